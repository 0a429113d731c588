# docker build -t elmokit . && docker run -p 8000:8000 -e ELMOKIT_API_KEY=secret elmokit
FROM python:3.11-slim
# gcc compiles the kernels for one sentence on first use; without it PyTorch computes the same.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu
WORKDIR /elmokit
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir '.[serve,parquet,analysis]'
RUN useradd --create-home elmokit
USER elmokit
EXPOSE 8000
HEALTHCHECK --start-period=30s CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/ready')"
ENTRYPOINT ["elmokit"]
CMD ["serve", "--host", "0.0.0.0"]
