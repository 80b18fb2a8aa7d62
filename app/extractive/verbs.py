"""English words that are no subject: verbs in all their forms, words that describe, and the calendar.

Written by hand for this project. Regular forms are derived; ``NOUNS`` are also nouns, and may end a phrase ("seat
change") but not stand alone.
"""

import re

_VERBS = """
    accept access achieve add address adjust afford agree aim allow analyze analyse announce answer apologize apologise
    appear apply appreciate approve arrange arrive ask assist assume assure attach attempt attend avoid base become
    begin
    believe belong blame book borrow break bring browse build buy calculate call cancel care carry catch cause celebrate
    change charge chat check cheer choose claim clarify clean clear click close collect combine come compare complete
    compute concern confirm connect consider contact contain continue contribute convert copy correct cost count cover
    create cut deal decide define delete deliver depart depend deploy describe deserve design detail determine develop
    die discover discuss display distribute divide double download draft draw drive drop earn eat edit eliminate email
    embrace emphasize enable encounter encourage end enjoy ensure enter establish estimate evaluate examine exchange
    execute exist expand expect explain explore export express extend extract face fail fall fear feature feed feel
    fetch figure fill filter find finish fit fix fly focus follow force forget format free fuel gather generate give
    glance grab grant grow guess guide handle happen hate hear help hide highlight hit hold hope hurt identify ignore
    imagine implement import improve include increase indicate inform insert inspect inspire install intend introduce
    investigate invite involve join judge jump keep kill know last laugh launch lead learn leave lend let lie lift like
    limit list listen live load locate log look lose love lower maintain make manage mark match mean measure meet merge
    mention miss modify monitor motivate move need note notice obtain occur offer open operate optimize order organize
    overcome own pack paint parse participate pass pay perform pick place plan play point practice prefer prepare
    present
    press prevent print proceed process produce promise promote prompt protect prove provide publish pull purchase push
    put qualify question quit raise reach react read realize reason recall receive recognize recommend record recover
    reduce refer reflect refund refuse regard relate relax release remain remember remind remove rename repeat replace
    reply report represent request require rescue research reset resolve respond rest result resume retrieve return
    reveal review ride rise run save say scan schedule search see seek seem select sell send separate serve set settle
    share shift shine ship shop show sign simplify sing sit sketch skip sleep solve sort sound speak specify spend
    spread
    stand start state stay step stick stop store strive struggle study submit succeed suffer suggest suit summarize
    summarise support suppose surprise survive take talk teach tell tend test thank think throw touch track trade train
    transfer transform translate travel treat trigger trust try turn understand update upgrade upload use validate value
    verify view visit wait wake walk want warn wash watch wear win wish wonder work worry write yell proceed reproduce
    delve navigate foster boost strengthen escalate
""".split()
_IRREGULAR = """
    ate bought broke brought built came caught chose chosen cut dealt did done drank drove drew eaten fell felt flew
    forgot forgotten fought found gave given gone got gotten grew grown had heard held hid hidden hurt kept knew known
    led left lent lost made meant met paid put ran rang read rode rose said sang sat saw seen sent set shook shot shown
    slept sold sought spent spoke spoken stood stuck swam taken taught thought threw told took understood went woke won
    wore worn wrote written named was were been being be is are am let's gonna wanna gotta lemme
""".split()
NOUNS = frozenset(
    """
    access address answer attempt book call care change charge check claim contact cost cover deal design detail display
    download draft drive drop end estimate exchange export feature feed figure filter fix focus format fuel guide help
    import increase launch lead limit list load log look love match measure merge mention move note offer order pass
    pick
    place plan play point practice present press print process promise prompt purchase question reason record release
    refund rename reply report request rescue research rest result return review ride rise run sale schedule search set
    share shift ship shop show sign sketch sleep sound spread start state step store struggle study support surprise
    talk test touch track trade train transfer travel treat trust update upgrade upload use value view visit walk watch
    work worry paint
    """.split()
)
GENERIC = frozenset(
    """
    ids issue issues process processes factor factors profile profiles response responses approach approaches version
    versions request requests eligibility option options parameter parameters conclusion conclusions idea ideas aspect
    aspects concept concepts insight insights finding findings overview summary summaries outline paragraph paragraphs
    sentence sentences command commands script scripts folder folders directory directories format formats step steps
    reason reasons benefit benefits situation situations experience experiences opportunity opportunities feeling
    assistance assistant assistants chance chances course difference exception exceptions meantime possibility
    possibilities sense
    feelings journey journeys goal goals tip tips advice port ports name names pm man men woman women
    """.split()
)
"""Nouns that name no subject without another word."""
_DESCRIBING = frozenset(
    """
    able amazing available aware awesome bad beautiful best better big bright brief busy calm capable careful certain
    cheap clean clear cold common complete cool correct crazy creative cute dark deep different difficult direct dirty
    double due early easy effective entire exact excellent excited exciting extra fair fantastic far fast favorite
    favourite final fine firm flexible free fresh friendly full fun funny general glad global good grateful great happy
    hard healthy heavy helpful high hot huge ideal immediate important impressive inspiring interested interesting
    invalid kind large late latest lazy legal light likely local long loud lovely low lucky main major many
    miscellaneous
    modern multiple narrow natural necessary new next nice normal obvious odd official old ongoing only open original
    other overall own perfect personal pleased poor popular positive possible powerful preferred present pretty previous
    primary private proper proud public quick quiet rare ready real recent red regular related relevant reliable rich
    right rough sad safe same secure serious several severe sharp short sick similar simple single slow small smart soft
    solid sorry special specific standard strange strong subtle successful such sudden suitable super sure sweet tall
    thankful thick thin tight tiny tired top total tough true typical unique unusual upcoming urgent useful usual valid
    various vast warm weak weird welcome whole wide wild wonderful worth wrong young
    first second third fourth fifth half back prior kind type sort part past way ways thing things stuff
    """.split()
)
_VAGUE = frozenset(
    """
    able additional adequate amazing applicable appropriate available awesome bad beautiful best better big certain
    complete comprehensive corresponding current desired detailed different entire excellent exact existing fantastic
    final first full fun general good great helpful huge important impressive initial interesting kind large latest
    lovely main major many multiple necessary new next nice other overall own particular perfect possible potential
    preferred pretty previous proper real recent regarding related relevant remaining respective right same several
    similar simple single small special specific standard suitable such sure total true typical unique upcoming
    updated useful usual valid various whole wonderful wrong
    """.split()
)
"""Adjectives that set a subject apart from no other."""
_LINKING = frozenset(
    """
    one two three four five six seven eight nine ten hundred thousand million billion
    dozen both few lot lots bit couple couples plenty something
    anything everything nothing someone anyone everyone today tomorrow yesterday tonight again ago ahead alone apart
    anymore aside away basically currently definitely easily else especially eventually exactly finally forward fully
    hopefully however immediately initially instead later literally maybe meanwhile moreover nearly otherwise
    please quickly quite rather really recently shortly simply since soon straight thus together too twice
    unfortunately unless usually via well while yeah yep yup wow hey hmm aww haha oops ok okay thanks thank sorry
    congrats hello bye wonder hi lol btw etc eg ie vs versus per regardless despite throughout toward without within
    among upon afraid whenever whichever sir madam mr mrs ms dr
    guy guys folks im ive id dont cant isnt doesnt didnt wasnt arent youre thats whats lets
    """.split()
)
"""Counts, adverbs and words that join or address: no noun phrase has them."""
_CALENDAR = frozenset(
    """
    january february march april june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat
    sun am pm est pst utc gmt second seconds minute minutes hour hours day days week weeks weekend weekends month months
    year years decade morning afternoon evening night noon midnight today tomorrow yesterday tonight century moment time
    times spring summer autumn winter
    """.split()
)
_NOUNS_IN_ING = frozenset(
    """
    accounting advertising banking beginning billing booking boxing briefing building camping ceiling clothing
    clustering
    coaching computing consulting cooking counseling counselling cycling dancing drawing engineering evening feeling
    fencing fishing funding gaming gardening greeting hearing hiking hosting housing knitting learning lighting listing
    logging manufacturing marketing meaning meeting mentoring networking offering opening outing packaging painting
    parenting parking planning pricing printing processing programming reading recycling routing running sailing
    scheduling screening setting shipping shopping singing skiing spelling staffing surfing swimming testing training
    tracing tubing tutoring understanding volunteering wedding wellbeing wiring writing yachting ring string king spring
    pudding earring sibling sterling morning wing
    """.split()
)
_NOUNS_IN_ED = frozenset("bed seed speed feed need shed breed weed creed steed newlywed watershed".split())
_LIKE_DESCRIPTIONS = frozenset(
    "family assembly supply anomaly butterfly ally reply fly jelly belly bully lily monopoly july table cable variable"
    " vegetable timetable interest request forest guest test quest harvest contest nest chest west rest digest conquest"
    " protest handful business wellness fitness illness nest virus campus bus bonus focus status arrest manifest unrest"
    " commercial musical chemical periodical professional official directive adjective derivative additive collective"
    " cooperative convertible collectible deliverable wearable payable receivable rendezvous mouthful archive executive"
    " detective initiative native olive perspective motive objective alternative drive narrative representative"
    " relative dive hive incentive".split()
)
"""Nouns with the endings of adjectives and adverbs."""
_DESCRIBES = re.compile(r".{3,}(?:ly|ous|ful|less|able|ible|est|ive|cial|ical|ional|-related|-based)$|.*-to-")


def _forms(verb: str) -> set[str]:
    stem = verb.removesuffix("e")
    forms = {verb, f"{verb}s", f"{verb}es", f"{stem}ed", f"{stem}ing"}
    if verb.endswith("y") and verb[-2] not in "aeiou":
        forms |= {f"{verb[:-1]}ies", f"{verb[:-1]}ied"}
    if re.search(r"[^aeiou][aeiou][bdgklmnprt]$", verb):
        forms |= {f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"}
    return forms


_ALL_VERBS = frozenset(form for verb in _VERBS for form in _forms(verb)) | frozenset(_IRREGULAR)


def is_verb(word: str) -> bool:
    """Return whether a word in lower case is a form of a verb; some are nouns as well (``NOUNS``)."""
    if word in _NOUNS_IN_ING or word in _NOUNS_IN_ED:
        return False
    if len(word) > 5 and word.endswith(("ing", "ed", "ize", "ify")) and "-" not in word:
        return True
    return word in _ALL_VERBS


def is_no_noun(word: str) -> bool:
    """Return whether a word describes, counts or links, so that no noun phrase ends in it. Endings are looked at in
    lower case only: Budapest and Emily are names.
    """
    lower = word.lower()
    if lower.removeprefix("un") in _DESCRIBING or lower in _VAGUE or lower in _LINKING:
        return True
    if is_verb(lower) and lower not in NOUNS:
        return True
    return word.islower() and _DESCRIBES.match(word) is not None and word not in _LIKE_DESCRIPTIONS


def is_linking(word: str) -> bool:
    """Return whether a word in lower case counts, joins or is an adverb, so that no noun phrase has it."""
    return word in _LINKING or (len(word) > 4 and word.endswith("ly") and word not in _LIKE_DESCRIPTIONS)


def is_vague(word: str) -> bool:
    """Return whether a word in lower case describes without setting apart: "specific", or a comparison ("cheaper")."""
    if word in _VAGUE or "-to-" in word:
        return True
    return word.endswith(("er", "est")) and any(word[:end] in _DESCRIBING for end in (-1, -2, -3))


def is_calendar(word: str) -> bool:
    """Return whether a word in lower case names a time."""
    return word in _CALENDAR
