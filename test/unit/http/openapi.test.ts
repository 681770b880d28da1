import { expect, test } from 'bun:test'
import { z } from 'zod'
import { openApiDocument } from '../../../core/http/document/openapi.ts'
import { route } from '../../../core/http/route.ts'
import { bundledTransports } from '../../support/transports.ts'

const FIELDS = Object.fromEntries(
  Array.from({ length: 200 }, (_, n) => [
    `field${n}`,
    z.object({ text: z.string().max(n + 1), kind: z.enum(['a', 'b']) }),
  ]),
)

test('requests are handled between the pieces of the document', async () => {
  const routes = Array.from({ length: 100 }, (_, n) =>
    route({
      ...{ method: 'POST', path: `/api/things${n}`, access: 'user', summary: 'A thing', tag: 'things' },
      body: z.object(FIELDS),
      responses: { 204: { description: 'Done' } },
      handle: () => ({ status: 204 }),
    }),
  )
  const began = performance.now()
  let last = began
  let longest = 0
  const beat = (): void => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(beat, 0)
  const document = await openApiDocument(routes, '1.0.0', {
    transports: bundledTransports(),
    channelTypes: [],
    routes: [],
    codes: [],
    records: { server: { schema: z.object({}), example: {} } },
  })
  clearInterval(timer)
  beat()
  const whole = performance.now() - began
  expect(Object.keys(document.paths ?? {})).toHaveLength(100)
  console.log(`${whole.toFixed(0)} ms, ${longest.toFixed(1)} of them in one piece`)
  expect(longest).toBeLessThan(whole / 4)
})
