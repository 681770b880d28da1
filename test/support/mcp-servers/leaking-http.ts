/**
 * HTTP servers that reject requests, and repeat the received headers and query in the answer. The path selects how: `/body` 500
 * with all of it, `/redirect` a Location with it, `/challenge` 401 with it in WWW-Authenticate, `/garbage` 200 with a body that
 * is not JSON, `/rpc` a JSON-RPC error. Prints `listening on URL`.
 */
const leaking = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const url = new URL(request.url)
    const heard = JSON.stringify({ query: url.search, headers: Object.fromEntries(request.headers) })
    const inHeader = heard.replaceAll('"', "'")
    switch (url.pathname.split('/')[1]) {
      case 'redirect':
        return new Response(null, {
          status: 302,
          headers: { location: `http://127.0.0.1:9/?${encodeURIComponent(heard)}` },
        })
      case 'challenge':
        return new Response(heard, { status: 401, headers: { 'www-authenticate': `Bearer realm="${inHeader}"` } })
      case 'garbage':
        return new Response(heard.slice(1), { headers: { 'content-type': 'application/json' } })
      case 'rpc': {
        const { id = null } = (await request.json().catch(() => ({}))) as { id?: unknown }
        return Response.json({ jsonrpc: '2.0', id, error: { code: -32000, message: heard } })
      }
      default:
        return new Response(heard, { status: 500, statusText: 'x' })
    }
  },
})
console.log(`listening on http://127.0.0.1:${leaking.port}`)
