# Basalt in a container: `docker build -t basalt .`
# Debian rather than Alpine: the embedded PostgreSQL is built against glibc.
ARG BASE=node:24-slim

# Dependencies of the server. Only manifests are copied, so that a change of sources leaves this layer cached.
FROM ${BASE} AS dependencies
WORKDIR /basalt
COPY package.json package-lock.json .npmrc ./
COPY packages/server/package.json packages/server/
# The package replaces npm's link to its sources.
RUN npm ci --workspace basaltdb --omit=dev \
  && rm node_modules/basaltdb \
  && mkdir node_modules/basaltdb \
  && if [ -d packages/server/node_modules ]; then mv packages/server/node_modules node_modules/basaltdb; fi

# Package of the server, built with the tools of the repository.
FROM ${BASE} AS package
WORKDIR /basalt
COPY package.json package-lock.json .npmrc ./
COPY packages/client/package.json packages/client/
COPY packages/create-basaltdb/package.json packages/create-basaltdb/
COPY packages/dashboard/package.json packages/dashboard/
COPY packages/react/package.json packages/react/
COPY packages/server/package.json packages/server/
RUN npm ci --ignore-scripts
COPY . .
# The manifests above may be newer than the installation, and npm pack needs an existing folder.
RUN touch node_modules/.package-lock.json \
  && mkdir /package \
  && npm pack --workspace basaltdb --pack-destination /tmp \
  && tar -xzf /tmp/basaltdb-*.tgz --strip-components=1 -C /package

FROM ${BASE}
# The embedded PostgreSQL needs libnss-wrapper for users without a name. npm and its relatives are not needed to run.
# /data is open to every user, because `--user` may choose any number.
RUN apt-get update \
  && apt-get install -y --no-install-recommends libnss-wrapper \
  && rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules /opt/yarn-* \
  && cd /usr/local/bin && rm -f npm npx corepack yarn yarnpkg \
  && ln -s /basalt/node_modules/basaltdb/bin/basalt.js basalt \
  && install -d -m 1777 /data
COPY --from=dependencies /basalt/node_modules /basalt/node_modules
COPY --from=package /package /basalt/node_modules/basaltdb
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
