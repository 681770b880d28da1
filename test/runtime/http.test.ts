// Unexpected behaviour of Bun's HTTP that the hub relies on.
import { afterEach, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import { join } from 'node:path'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { makeTemp, removeTemp } from '../support/temp.ts'

const stopping: (() => unknown)[] = []

afterEach(async () => {
  for (const stop of stopping.splice(0)) await stop()
})

function serve(answer: (request: Request) => Response | Promise<Response>): URL {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
  stopping.push(() => server.stop(true))
  return server.url
}

/** Sends bytes as they are and resolves with all that comes until the peer closes. */
function raw(url: URL, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = net.connect(Number(url.port), '127.0.0.1', () => socket.write(bytes))
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

function streamed(first: string | undefined): Response {
  const body = new ReadableStream({
    start(controller) {
      if (first !== undefined) controller.enqueue(new TextEncoder().encode(first))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** True when the head arrives within this time, in milliseconds. */
async function headComes(url: URL, withinMs: number): Promise<boolean> {
  const leaving = new AbortController()
  const answer = fetch(url, { signal: leaving.signal })
    .then(() => true)
    .catch(() => false)
  const came = await Promise.race([answer, Bun.sleep(withinMs).then(() => false)])
  leaving.abort()
  return came
}

test('the head of a stream is held back until its first chunk', async () => {
  expect(
    await headComes(
      serve(() => streamed(undefined)),
      300,
    ),
  ).toBe(false)
  expect(
    await headComes(
      serve(() => streamed(': ok\n\n')),
      30_000,
    ),
  ).toBe(true)
})

test('dot segments, encoded and with backslashes, are resolved before any code sees the URL; double slashes stay', async () => {
  const url = serve(request => new Response(request.url.slice(request.url.indexOf('/', 8))))
  const ask = async (path: string): Promise<string> => {
    const answer = await raw(url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    return answer.slice(answer.indexOf('\r\n\r\n') + 4)
  }
  expect(await ask('/a/../b')).toBe('/b')
  expect(await ask('/a/%2e%2e/b')).toBe('/b')
  expect(await ask('/a\\..\\b')).toBe('/b')
  expect(await ask('//b')).toBe('//b')
})

test('two Host headers come through as one, joined by a comma', async () => {
  const url = serve(request => new Response(request.headers.get('host')))
  const answer = await raw(url, 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n')
  expect(answer).toStartWith('HTTP/1.1 200')
  expect(answer).toEndWith('a, b')
})

test('Content-Length together with Transfer-Encoding, and a missing Host, are refused by the runtime', async () => {
  const url = serve(() => new Response('reached'))
  const both = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
  expect(await raw(url, both)).toStartWith('HTTP/1.1 400')
  expect(await raw(url, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n')).toStartWith('HTTP/1.1 400')
})

test('server.timeout(request, 0) keeps one silent stream open beyond the limit of the server', async () => {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 1,
    fetch(request, serving) {
      if (request.url.endsWith('/kept')) serving.timeout(request, 0)
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue('a')
          await Bun.sleep(4_500)
          try {
            controller.enqueue('b')
            controller.close()
          } catch {
            // The runtime has closed the stream.
          }
        },
      })
      return new Response(body)
    },
  })
  stopping.push(() => server.stop(true))
  const read = (path: string): Promise<string> =>
    fetch(new URL(path, server.url))
      .then(answer => answer.text())
      .catch(() => 'cut')
  const [kept, cut] = await Promise.all([read('/kept'), read('/cut')])
  expect(kept).toBe('ab')
  expect(cut).not.toBe('ab')
}, 120_000)

test("Hono's compress looks only at Content-Length: it compresses a few bytes of JSON", async () => {
  const app = new Hono()
  app.use(compress({ threshold: 1024 }))
  app.get('/', context => context.json([1, 2, 3]))
  const answer = await app.request('/', { headers: { 'accept-encoding': 'gzip' } })
  expect(answer.headers.get('content-encoding')).toBe('gzip')
})

test('fetch opens data: and file: URLs', async () => {
  const folder = await makeTemp('fetch')
  stopping.push(() => removeTemp(folder))
  await writeFile(join(folder, 'secret'), 'secret')
  expect(await (await fetch(`file://${folder}/secret`)).text()).toBe('secret')
  expect(await (await fetch('data:,hello')).text()).toBe('hello')
})

test('node:http asks our lookup for a name, but neither for a literal address nor for a socket that is used again', async () => {
  const port = serve(() => new Response('ok')).port
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  stopping.push(() => agent.destroy())
  let asked = 0
  const lookup = ((_name: string, options: { all?: boolean }, done: (...answer: unknown[]) => void) => {
    asked += 1
    if (options.all) done(null, [{ address: '127.0.0.1', family: 4 }])
    else done(null, '127.0.0.1', 4)
  }) as net.LookupFunction
  const get = (host: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const request = http.get({ host, port, path: '/', lookup, agent }, answer => {
        answer.resume()
        answer.on('end', resolve)
      })
      request.on('error', reject)
    })
  await get('127.0.0.1')
  expect(asked).toBe(0)
  await get('name.example')
  expect(asked).toBe(1)
  await get('name.example')
  expect(asked).toBe(1)
})
