# docker build -t portico .
# docker run --read-only --cap-drop ALL -v ./portico:/etc/portico:ro -v portico:/var/lib/portico -p 127.0.0.1:8787:8787 portico
#
# compose.yaml runs it beside a PostgreSQL. docs/operating.md has the rest.
#
# The configuration listens on 0.0.0.0:8787 and keeps its store in /var/lib/portico. Secrets come as
# variables (${NAME}) or as files: mount a folder, set CREDENTIALS_DIRECTORY to it, and write
# ${credential:NAME}.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev make && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package portico && mkdir -p /state

# Only the C library and the authorities' certificates: no shell, no package manager.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /source/target/release/portico /usr/bin/portico
COPY --from=build --chown=nonroot:nonroot --chmod=0700 /state /var/lib/portico
USER nonroot
WORKDIR /var/lib/portico
VOLUME /var/lib/portico
EXPOSE 8787
STOPSIGNAL SIGTERM
# By the control socket beside the store: it works with TLS, without, and on any address.
HEALTHCHECK --interval=15s --timeout=6s --start-period=30s \
    CMD ["/usr/bin/portico", "health", "--config", "/etc/portico/config.toml"]
ENTRYPOINT ["/usr/bin/portico"]
CMD ["serve", "--config", "/etc/portico/config.toml"]
