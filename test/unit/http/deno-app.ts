import { z } from 'zod'
import { HubError } from '../../../core/contract/errors.ts'
import { BytesInFlight } from '../../../core/domain/byte-account.ts'
import { createApp } from '../../../core/http/app.ts'
import { createGuard } from '../../../core/http/guard.ts'
import { route } from '../../../core/http/route.ts'

/** The application with one route, on whatever runtime this file runs. Prints each answer as one line of JSON. */
const guard = createGuard({
  basePath: '',
  allowedHosts: ['localhost'],
  allowedOrigins: [],
  trustedProxies: [],
  adminAddresses: [],
})
const refuse = (): never => {
  throw new HubError('unauthenticated', 'A credential is needed')
}
const app = createApp({
  guard,
  routes: [
    route({
      method: 'POST',
      path: '/api/things/{ref}',
      access: 'public',
      summary: 'Takes a thing',
      tag: 'test',
      body: z.object({ size: z.number() }),
      responses: { 200: { description: 'Taken' } },
      handle: ({ params, body }) => ({ body: { params, body, text: 'x'.repeat(2_000) } }),
    }),
  ],
  authenticator: {
    authenticate: refuse,
    authenticateToken: refuse,
    stillValid: () => false,
    continues: async () => false,
  },
  rateLimiter: { count() {} },
  log: { error: (message, fields) => console.error(message, fields) },
  nextId: () => 'refused',
  bytes: new BytesInFlight({ perUser: 1e6, perAddress: 1e6, total: 1e6 }),
})

const send = async (path: string, body: string, headers: Record<string, string> = {}) => {
  const request = new Request(`http://localhost${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  const response = await app.fetch(request, { address: '127.0.0.1', keepOpen() {} })
  const encoding = response.headers.get('content-encoding')
  const bytes = await response.arrayBuffer()
  const answer = encoding === null ? JSON.parse(new TextDecoder().decode(bytes)) : undefined
  console.log(JSON.stringify({ status: response.status, encoding, code: answer?.code, params: answer?.params }))
}

await send('/api/things/a%20b', '{"size":1}')
await send('/api/things/a%20b', '{"size":1}', { 'accept-encoding': 'gzip' })
await send('/api/things/a', '{"size":"1"}')
await send('/api/things/a', '{')
await send('/api/nothing', '{}')
await send('/api//things', '{}')
await send('/api/things/a', '{}', { origin: 'http://evil.example' })
