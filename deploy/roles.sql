-- Run once by the superuser in the database `quire`. The embedded PostgreSQL does the same by itself.
-- The owner creates the tables; the app cannot bypass row-level security. Give both a password.
CREATE ROLE quire_owner LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'owner_password';
CREATE ROLE quire_app LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'app_password';
ALTER DATABASE quire OWNER TO quire_owner;
ALTER SCHEMA public OWNER TO quire_owner;
GRANT USAGE ON SCHEMA public TO quire_app;
CREATE EXTENSION IF NOT EXISTS vector;
ALTER DEFAULT PRIVILEGES FOR ROLE quire_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO quire_app;
ALTER DEFAULT PRIVILEGES FOR ROLE quire_owner IN SCHEMA public
  GRANT USAGE, SELECT ON SEQUENCES TO quire_app;
-- Session limits for PgBouncer in transaction mode, where Quire cannot set them itself.
ALTER ROLE quire_app SET statement_timeout = '5s';
ALTER ROLE quire_app SET lock_timeout = '2s';
ALTER ROLE quire_app SET idle_in_transaction_session_timeout = '10s';
