# The provider without Python on the machine:
#   docker build -t fakeprovider . && docker run --rm -p 8080:8080 fakeprovider
#   docker run --rm -p 8080:8080 -v "$PWD/my-scripts:/scripts:ro" fakeprovider serve /scripts --host 0.0.0.0
FROM python:3.13-slim

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY fakeprovider fakeprovider
COPY harness harness
COPY scenarios scenarios
COPY benchmarks benchmarks
RUN pip install --no-cache-dir --no-compile . && rm -rf /src/*

WORKDIR /scripts
USER 65534:65534
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["fakeprovider"]
# Inside a container, loopback would be the container's own.
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
