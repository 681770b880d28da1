/**
 * Passes HTTP on to the hub and adds the bearer token, which the conformance suite cannot send. Host and Origin stay unchanged.
 * Usage: `bun auth-proxy.ts PORT HUB_PORT KEY`; port 0 takes a free one. Prints `listening on URL`.
 */
import http from 'node:http'

const [port = '0', hubPort = '', key = ''] = process.argv.slice(2)
if (hubPort === '' || key === '') throw new Error('Usage: bun auth-proxy.ts PORT HUB_PORT KEY')

// node:http and not fetch: fetch would set Host itself.
const server = http.createServer((incoming, outgoing) => {
  const upstream = http.request(
    {
      host: '127.0.0.1',
      port: Number(hubPort),
      method: incoming.method,
      path: incoming.url,
      headers: { ...incoming.headers, authorization: `Bearer ${key}` },
    },
    answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      outgoing.flushHeaders()
      answer.pipe(outgoing)
    },
  )
  upstream.on('error', error => {
    if (!outgoing.headersSent) outgoing.writeHead(502, { 'content-type': 'text/plain' })
    outgoing.end(`proxy: ${error.message}`)
  })
  outgoing.on('close', () => upstream.destroy())
  incoming.pipe(upstream)
})
server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') console.log(`listening on http://127.0.0.1:${address.port}`)
})
