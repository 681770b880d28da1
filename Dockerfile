# The hub in one image. Data (database, generated secrets, settings) lives in /data.
#   docker build -t patchbay .
#   docker run --rm -p 3000:3000 -v patchbay:/data patchbay
FROM oven/bun:1.4.5-debian

# bubblewrap, setpriv and prlimit are what the process sandbox is made of; tini reaps children of ended servers.
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap util-linux tini \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
RUN bun install --frozen-lockfile --production
COPY core core
COPY plugins plugins
COPY mcp_settings.json LICENSE ./

ENV HOST=0.0.0.0 DATA_DIR=/data SETTINGS_FILE=/data/mcp_settings.json
RUN mkdir -p /data && cp mcp_settings.json /data/mcp_settings.json
VOLUME /data
EXPOSE 3000
ENTRYPOINT ["tini", "--", "bun", "core/main.ts"]
