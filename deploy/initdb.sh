#!/bin/sh
# The PostgreSQL image runs this when its volume is new.
exec psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d quire \
  -v owner_password="$QUIRE_OWNER_PASSWORD" -v app_password="$QUIRE_APP_PASSWORD" -f /etc/quire/roles.sql
