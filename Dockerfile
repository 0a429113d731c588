# docker build -t elmokit . && docker run -p 8000:8000 -e ELMOKIT_API_KEY=secret elmokit
FROM python:3.11-slim
# gcc compiles the kernels for one sentence on first use; without it PyTorch computes the same.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir torch==2.13.0 --index-url "$TORCH_INDEX"
WORKDIR /elmokit
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
# The versions of constraints.txt are those that the tests ran with.
# hadolint ignore=DL3013
RUN pip install --no-cache-dir --constraint constraints.txt '.[serve,parquet,analysis]' \
    && useradd --create-home --uid 1000 elmokit
USER 1000
EXPOSE 8000
HEALTHCHECK --start-period=30s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/ready')"]
ENTRYPOINT ["elmokit"]
CMD ["serve", "--host", "0.0.0.0"]
