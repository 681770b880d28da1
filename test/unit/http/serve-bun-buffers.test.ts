import { expect, test } from 'bun:test'
import { boundSocketBuffers, RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES } from '../../../core/http/serve-bun-buffers.ts'
import { until } from '../../support/wait.ts'

test.each(['127.0.0.1', '::'])('the system keeps no more of a body than is asked for: %s', async hostname => {
  const server = Bun.serve({
    hostname,
    port: 0,
    fetch: async request => new Response(String((await request.bytes()).length)),
  })
  const port = server.port ?? 0
  expect(boundSocketBuffers(port)).toBe(true)
  let answer = ''
  const body = Buffer.alloc(4 * RECEIVE_BUFFER_BYTES, 'x')
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data: (_, chunk) => {
        answer += chunk.toString()
      },
    },
  })
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`)
  let sent = socket.write(body)
  // The longest body comes whole, in more parts.
  await until(() => {
    if (sent < body.length) sent += socket.write(body.subarray(sent))
    return answer.endsWith(String(body.length))
  })
  socket.end()
  await server.stop(true)
})

test('the system takes little of an answer that nobody reads', async () => {
  const part = new Uint8Array(64 * 1024)
  let taken = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            taken += part.byteLength
            controller.enqueue(part.slice())
          },
        }),
      ),
  })
  const port = server.port ?? 0
  expect(boundSocketBuffers(port)).toBe(true)
  const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } })
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  let before = -1
  await until(
    () => {
      const still = taken > 0 && taken === before
      before = taken
      return still
    },
    { intervalMs: 100 },
  )
  expect(taken).toBeLessThan(8 * SEND_BUFFER_BYTES)
  socket.terminate()
  await server.stop(true)
})

test('a port at which this process does not listen has no such bound', () => {
  expect(boundSocketBuffers(1)).toBe(false)
})
