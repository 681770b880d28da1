import { expect, test } from 'bun:test'
import { LIMITS } from '../../../core/config/limits.ts'
import { HubError } from '../../../core/contract/errors.ts'
import { BodyParser, MAIN_THREAD_BYTES } from '../../../core/http/body/body-parser.ts'
import { timed, until } from '../../support/wait.ts'

const body = (value: object): Uint8Array =>
  new TextEncoder().encode(JSON.stringify({ ...value, padding: 'x'.repeat(2 * MAIN_THREAD_BYTES) }))

test('senders take turns at the thread, and one has a limited number of bodies waiting', async () => {
  const parser = new BodyParser()
  try {
    const order: string[] = []
    const send = async (sender: string, value: object): Promise<void> => {
      const parsed = await parser.parse([body(value)], {}, sender)
      order.push(`${sender}${parsed.n}`)
    }
    // The first one is with the thread, the others wait.
    const many = Array.from({ length: LIMITS.waitingBodies + 1 }, (_, n) => send('a', { n }))
    const refused = await send('a', { n: 99 }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(HubError)
    expect((refused as HubError).code).toBe('overloaded')
    await Promise.all([...many, send('b', { n: 0 }), send('b', { n: 1 }), send('c', { n: 0 })])
    expect(order.slice(0, 7)).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3'])
    expect(order).toHaveLength(LIMITS.waitingBodies + 4)
    // Refused bodies no longer count.
    await send('a', { n: 100 })
  } finally {
    parser.dispose()
  }
})

test('a document that takes too long is refused as too large, and those that wait are checked', async () => {
  const yaml = (lines: number): string =>
    ['openapi: 3.1.0', 'paths: {}', 'servers: [{url: https://a.example}]', 'x-all:']
      .concat(Array.from({ length: lines }, (_, at) => `  k${at}: {type: string, description: "text ${at}"}`))
      .join('\n')
  const large = { text: yaml(60_000), hasBaseUrl: false }
  const patient = new BodyParser({ documentMs: 60_000 })
  await patient.checkDocument({ text: yaml(1), hasBaseUrl: false }, 'a')
  const { ms } = await timed(() => patient.checkDocument(large, 'a'))
  patient.dispose()
  // A machine may be quick.
  const parser = new BodyParser({ documentMs: ms / 3 })
  try {
    const slow = parser.checkDocument(large, 'a')
    expect(await slow).toMatchObject({ problem: { field: 'schema', code: 'openapi_too_large' } })
    // The start of the new thread counts, and a busy machine may take longer for it.
    await until(async () => 'known' in (await parser.checkDocument({ text: yaml(1), hasBaseUrl: false }, 'b')))
  } finally {
    parser.dispose()
  }
})
