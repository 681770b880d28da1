# The hub in one image. Data (database, generated secrets, settings) lives in /data.
#   docker build -t patchbay .
#   docker run --rm -p 3000:3000 -v patchbay:/data patchbay
# deploy/compose has whole set-ups, with a read-only root and few capabilities; docs/deployment.md says what the sandbox needs.
FROM oven/bun:1.4.5-debian AS build
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
RUN bun install --frozen-lockfile --production --omit=optional
COPY core core
COPY plugins plugins
COPY ui ui
# Of the console, the image keeps what is built.
RUN bun ui/build.ts && find ui -mindepth 1 -maxdepth 1 ! -name dist -exec rm -r {} +

FROM oven/bun:1.4.5-debian
# bubblewrap, setpriv and prlimit are what the process sandbox is made of; tini reaps children of ended servers.
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap util-linux tini ca-certificates \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /app /app
COPY mcp_settings.json LICENSE ./
# HOME is where Bun and npx keep what they fetch: the root file system may be read-only.
ENV HOST=0.0.0.0 DATA_DIR=/data HOME=/data/home
# A new volume takes the mode of this folder, so that `--user` works as well; the hub closes a folder that is its own.
RUN mkdir -p /data && chmod 0777 /data
VOLUME /data
# The settings file is the one of the current folder, made from the sample in /app at the first start.
WORKDIR /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["bun", "-e", "const a = await fetch(`http://127.0.0.1:${process.env.PORT ?? 3000}${process.env.BASE_PATH ?? ''}/health`); process.exit(a.ok ? 0 : 1)"]
ENTRYPOINT ["tini", "--", "bun", "/app/core/main.ts"]
