import { expect, test } from 'bun:test'
import { LongText } from '../../../core/domain/json/long-text.ts'
import { heldBody, pulledBody } from '../../../core/request/held-body.ts'
import { bytesInFlight } from '../../support/bytes.ts'
import { turnsOf } from '../http/loop-turns.ts'

const PART_BYTES = 512 * 1024
/** Most chunks of 64 KiB in one turn of the event loop, a millisecond of work on a slow processor: four, and the first of a part that was read. */
const MOST_IN_TURN = 5

type Body = ReadableStream<Uint8Array>

function held(user: string, accounts: ReturnType<typeof bytesInFlight>): Body {
  return heldBody(new LongText([new Uint8Array(PART_BYTES)]), accounts.user(user))
}

function pulled(user: string, accounts: ReturnType<typeof bytesInFlight>): Body {
  let parts = 2
  const next = async () => (parts-- > 0 ? new Uint8Array(PART_BYTES / 2) : undefined)
  return pulledBody(next, PART_BYTES / 2, accounts.user(user))
}

/** Reads a body as a client does that takes everything at once, and reports each chunk. */
async function read(body: Body, chunk: (bytes: number) => void): Promise<void> {
  for await (const { byteLength } of body) chunk(byteLength)
}

test.each([
  ['a text that is in memory', held],
  ['a text that is read part by part', pulled],
] as const)('%s: bodies of one user that are read side by side share each turn with others', async (_, body) => {
  const accounts = bytesInFlight()
  const { at, end } = turnsOf()
  const inTurn = new Map<number, number>()
  const bodies = Array.from({ length: 40 }, () => body('ada', accounts))
  let bytes = 0
  // The first chunk of each belongs to the turn of its request.
  let first = bodies.length
  await Promise.all(
    bodies.map(each =>
      read(each, length => {
        bytes += length
        first -= 1
        if (first < 0) inTurn.set(at(), (inTurn.get(at()) ?? 0) + 1)
      }),
    ),
  )
  end()
  expect(bytes).toBe(40 * PART_BYTES)
  expect(Math.max(...inTurn.values())).toBeLessThanOrEqual(MOST_IN_TURN)
  expect(accounts.used).toBe(0)
})

test('a body of another user does not wait for all those of the first', async () => {
  const accounts = bytesInFlight()
  let chunks = 0
  const all = Array.from({ length: 40 }, () => read(held('ada', accounts), () => (chunks += 1)))
  await read(held('bob', accounts), () => {})
  // Beside each of bob's eight chunks ada has the rest of the turn.
  expect(chunks).toBeLessThanOrEqual(40 + 10 * MOST_IN_TURN)
  await Promise.all(all)
  expect(chunks).toBe(40 * (PART_BYTES / (64 * 1024)))
})

test('a body that is cancelled while it waits for its turn gives its bytes back, and reads no further part', async () => {
  const accounts = bytesInFlight()
  let reads = 0
  const next = async () => {
    reads += 1
    return new Uint8Array(1024)
  }
  const reader = pulledBody(next, 1024, accounts.user('ada')).getReader()
  await reader.read()
  const waiting = reader.read()
  await reader.cancel()
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(accounts.used).toBe(0)
  await Bun.sleep(0)
  await new Promise(resolve => setImmediate(resolve))
  expect(reads).toBe(1)
})
