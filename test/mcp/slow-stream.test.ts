// A server that is far away: its own stream, by which it asks its client, opens later than the first call could be sent.
import { expect, test } from 'bun:test'
import { answering } from '../support/answering.ts'
import { fixture } from '../support/fixtures.ts'
import { startHub } from '../support/hub.ts'
import { startProgram } from '../support/program.ts'
import { callText, online } from '../support/servers.ts'

const QUESTIONS = fixture('questions')
const POST_MS = 500
const STREAM_MS = 1_500

test('a first call waits for the stream of a slow server, by which it is asked', async () => {
  const server = await startProgram(QUESTIONS, { env: { WIRE: 'http' } })
  const far = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      await Bun.sleep(request.method === 'GET' ? STREAM_MS : POST_MS)
      const { pathname, search } = new URL(request.url)
      const { method, headers, signal } = request
      const body = method === 'GET' ? null : await request.arrayBuffer()
      headers.delete('host')
      return fetch(new URL(pathname + search, server.url), { method, headers, body, signal, decompress: false })
    },
  })
  const url = new URL(server.url)
  url.port = String(far.port)
  const hub = await startHub({ settings: { mcpServers: { far: { url: url.href } } } })
  try {
    const admin = await hub.setup()
    await online(admin, ['far'])
    const client = await admin.mcp('/mcp/far', answering('ada').options)
    expect(await callText(client, 'ask', { kind: 'roots', mark: 'm' })).toContain('ada')
  } finally {
    await hub.stop()
    await far.stop(true)
    await server.stop()
  }
}, 120_000)
