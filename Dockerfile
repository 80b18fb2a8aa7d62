# The API (or, with another command, the worker or the migrations). Bring a PostgreSQL: see docker-compose.yml.
FROM python:3.12-slim

RUN useradd --create-home --uid 10001 quire
WORKDIR /srv/quire
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 QUIRE_DATA_DIR=/home/quire/data

COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY app app
COPY alembic alembic

USER quire
RUN mkdir -p "$QUIRE_DATA_DIR"
VOLUME /home/quire/data
EXPOSE 8000
HEALTHCHECK CMD python -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"
ENTRYPOINT ["python", "-m", "app"]
CMD ["serve"]
