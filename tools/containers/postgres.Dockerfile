# A stand-in for postgres: Debian's PostgreSQL, with as much of that image's entrypoint as docker-compose.yaml uses.
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends postgresql \
    && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/* \
    && install -d -o postgres -g postgres /var/lib/postgresql/data /run/postgresql
COPY postgres.sh /usr/local/bin/postgres.sh
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin \
    PGDATA=/var/lib/postgresql/data \
    LANG=C.UTF-8
VOLUME /var/lib/postgresql/data
USER postgres
ENTRYPOINT ["/usr/local/bin/postgres.sh"]
CMD ["postgres"]
