# One image for every process of Inquest. No container engine runs where this is developed: the image was never built.
# Each of its steps is tested without one (tests/container), and docs/how-to/run-in-containers.md says what is not.
FROM python:3.12-slim AS build
WORKDIR /src
COPY requirements/bootstrap.lock requirements.lock ./
RUN python -m venv /opt/inquest \
 && /opt/inquest/bin/pip install --no-cache-dir --require-hashes -r bootstrap.lock \
 && /opt/inquest/bin/uv pip install --no-cache --python /opt/inquest/bin/python \
        --compile-bytecode --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY config config
COPY migrations migrations
RUN /opt/inquest/bin/uv pip install --offline --no-cache --python /opt/inquest/bin/python \
        --compile-bytecode --no-build-isolation --no-deps .

FROM python:3.12-slim
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/inquest inquest
COPY --from=build /opt/inquest /opt/inquest
COPY --chmod=755 container/start.sh /usr/local/bin/inquest-start
ENV PATH=/opt/inquest/bin:$PATH PYTHONUNBUFFERED=1 HOME=/var/lib/inquest
USER inquest
WORKDIR /var/lib/inquest
VOLUME /var/lib/inquest
EXPOSE 8417
ENTRYPOINT ["inquest-start"]
CMD ["up"]
