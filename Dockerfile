# The server in a container: built from the locked packages, run without root and without asking the network anything.

FROM python:3.12-slim AS packages
WORKDIR /build
COPY requirements/base.txt requirements/base.txt
RUN python -m venv /opt/recollect \
    && /opt/recollect/bin/python -m pip --disable-pip-version-check --no-cache-dir install \
        --require-hashes -r requirements/base.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
# The types of the web app are those of the API.
RUN PYTHONPATH=src /opt/recollect/bin/python -m recollect.http.document > openapi.json

FROM node:22-slim AS web
WORKDIR /build/web
COPY web/package.json web/package-lock.json ./
RUN npm install --no-save --no-audit --no-fund
COPY web ./
COPY --from=packages /build/openapi.json ./
RUN npm run types && npm run build

FROM packages AS build
COPY --from=web /build/src/recollect/http/static src/recollect/http/static
# The lock holds the build backend too, so that a wheel is built without another download.
RUN /opt/recollect/bin/python -m pip --disable-pip-version-check --no-cache-dir wheel \
        --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/recollect/bin/python -m pip --disable-pip-version-check --no-cache-dir install --no-deps dist/*.whl \
    && /opt/recollect/bin/python -m compileall -q /opt/recollect/lib

FROM python:3.12-slim
RUN groupadd --gid 10001 recollect \
    && useradd --uid 10001 --gid recollect --no-create-home --home-dir /data --shell /usr/sbin/nologin recollect \
    && install -d -o recollect -g recollect -m 700 /data
COPY --from=build /opt/recollect /opt/recollect
ENV PATH=/opt/recollect/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    RECOLLECT_DATABASE=sqlite:////data/recollect.db \
    RECOLLECT_SERVER_HOST=0.0.0.0 \
    RECOLLECT_SERVER_PORT=8377 \
    RECOLLECT_AUTH_MODE=token \
    RECOLLECT_LOGGING_FORMAT=json
USER recollect
WORKDIR /data
VOLUME /data
EXPOSE 8377
# Ready and not only alive: a container whose store is away gets no requests.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8377/readyz', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["recollect"]
CMD ["serve"]
