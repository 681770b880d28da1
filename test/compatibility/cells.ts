import { failureOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { beforeElicitation, type ClientKind, type Feature, type Outcome } from './axes.ts'
import type { Pairs } from './pairs.ts'
import type { ListKind, Peer } from './peers.ts'
import type { Upstream } from './upstreams.ts'

/** The parts that one scenario works with. */
export interface Cell {
  readonly client: ClientKind
  readonly upstream: Upstream
  readonly pairs: Pairs
  /** A key that no other cell has. */
  readonly key: string
}

const WATCHED = 'test://watched-resource'
const FENCE = 'test://static-text'
/** A resource that is in no list, but matches a template. */
const LATER = 'test://template/7/data'

/** Each scenario returns its result, and throws if that is neither the feature nor a refusal of it. */
export const SCENARIOS: Readonly<Record<Feature, (cell: Cell) => Promise<Outcome>>> = {
  'tool call': toolCall,
  progress,
  cancel,
  sampling: cell =>
    ask(cell, 'test_sampling', { prompt: `from ${cell.key}` }, 'sampling', name => `sampled by ${name}`),
  elicitation: cell =>
    ask(cell, 'test_elicitation', { message: `from ${cell.key}` }, 'elicitation', name => `${name}@example.org`),
  roots: cell => ask(cell, 'test_input_required_result_list_roots', {}, 'roots', name => `file:///${name}`),
  subscribe,
  'log messages': logMessages,
  list_changed: listChanged,
}

export async function textOf(call: ReturnType<Peer['call']>): Promise<string> {
  const { content, isError } = await call
  if (isError) throw new Error(`The call failed: ${JSON.stringify(content)}`)
  return content[0]?.text ?? ''
}

function same(found: unknown, expected: unknown, what: string): void {
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`)
}

/** The refusal of the work, by its numbers and codes; undefined if the work succeeds. */
async function refusal(work: Promise<unknown>): Promise<string | undefined> {
  const settled = await work.then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  if (settled === undefined) return undefined
  const { code, data } = await failureOf(Promise.reject(settled.error))
  return `${code} ${data?.code}`
}

async function toolCall(cell: Cell): Promise<Outcome> {
  const [ann, bob] = await cell.pairs.open('plain')
  const texts = [`ann ${cell.key} "ü\u2028\\n"`, `bob ${cell.key} ${'é'.repeat(500)}`]
  const [one, two] = await Promise.all([
    textOf(ann.call('echo', { text: texts[0] ?? '' })),
    textOf(bob.call('echo', { text: texts[1] ?? '' })),
  ])
  same([one, two], texts, 'what came back')
  return 'works'
}

async function progress(cell: Cell): Promise<Outcome> {
  const [ann, bob] = await cell.pairs.open('plain')
  // Both use the same token: the hub must keep the two apart in spite of it.
  const run = (peer: Peer, key: string) => textOf(peer.call('steps', { key }, { token: 'the token' }))
  await Promise.all([run(ann, 'ann'), run(bob, 'bob')])
  const told = (name: string) => [1, 2, 3].map(step => ['the token', step, name])
  if (cell.upstream.kind.transport === 'openapi') {
    same([ann.heard.progress, bob.heard.progress], [[], []], 'progress')
    return 'none sent'
  }
  same([ann.heard.progress, bob.heard.progress], [told('ann'), told('bob')], 'progress')
  await textOf(ann.call('steps', { key: 'zero' }, { token: 0 }))
  same(
    ann.heard.progress.slice(3),
    told('zero').map(([, ...rest]) => [0, ...rest]),
    'progress of token 0',
  )
  same(await textOf(ann.call('steps', { key: 'without' })), 'no token', 'a call without a token')
  return 'works'
}

async function cancel(cell: Cell): Promise<Outcome> {
  const { upstream, key } = cell
  const [ann, bob] = await cell.pairs.open('plain')
  const keys = [`ann ${key}`, `bob ${key}`] as const
  const leaving = new AbortController()
  const left = ann.call('hold', { key: keys[0] }, { signal: leaving.signal }).then(
    () => 'answered',
    () => 'left',
  )
  const stayed = textOf(bob.call('hold', { key: keys[1] }))
  const holds = async (event: 'begun' | 'cancelled', wanted: readonly string[]) => {
    const seen = await upstream.noted(event)
    return wanted.every(each => seen.includes(each))
  }
  await until(() => holds('begun', keys), { what: 'both calls to have begun', timeoutMs: 60_000 })
  leaving.abort()
  same(await left, 'left', 'the call that was cancelled')
  await until(() => holds('cancelled', [keys[0]]), { what: 'the upstream to hear of it', timeoutMs: 60_000 })
  await upstream.release(keys[1])
  same(await stayed, `released ${keys[1]}`, 'the call of the other client')
  same((await upstream.noted('cancelled')).includes(keys[1]), false, 'the other call as cancelled')
  return 'works'
}

async function ask(
  cell: Cell,
  tool: string,
  args: Record<string, string>,
  kind: string,
  answerOf: (name: string) => string,
): Promise<Outcome> {
  const [ann, bob] = await cell.pairs.open('asked')
  const before = [ann.heard.asked.length, bob.heard.asked.length]
  if (cell.upstream.kind.transport === 'openapi') {
    same(await textOf(ann.call('echo', { text: 'asked?' })), 'asked?', 'a call of a client that can be asked')
    same([ann.heard.asked, bob.heard.asked], [[], []], 'what was asked')
    return 'never asked'
  }
  const called = (peer: Peer, name: string) =>
    peer.call(tool, Object.fromEntries(Object.entries(args).map(([each, text]) => [each, `${text} ${name}`])))
  if (kind === 'elicitation' && beforeElicitation(cell.upstream.kind)) {
    const { content, isError } = await called(ann, 'ann')
    same(
      [isError, /did not declare the required capability/.test(content[0]?.text ?? '')],
      [true, true],
      'what it said',
    )
    same([ann.heard.asked.length, bob.heard.asked.length], before, 'what was asked')
    return 'not offered'
  }
  const run = (peer: Peer, name: string) => textOf(called(peer, name))
  const texts = await Promise.all([run(ann, 'ann'), run(bob, 'bob')])
  for (const [index, name, peer] of [
    [0, 'ann', ann],
    [1, 'bob', bob],
  ] as const) {
    if (!texts[index]?.includes(answerOf(name))) throw new Error(`${name}'s answer is not in "${texts[index]}"`)
    const [question = '', ...more] = peer.heard.asked.slice(before[index])
    same(more, [], `further questions to ${name}`)
    const [own] = Object.values(args)
    if (!question.startsWith(kind) || (own !== undefined && !question.includes(`${own} ${name}`)))
      throw new Error(`${name} was asked "${question}"`)
  }
  return 'works'
}

async function subscribe(cell: Cell): Promise<Outcome> {
  const { upstream } = cell
  const [ann, bob] = await cell.pairs.open('plain')
  const taking = ann.subscribe(WATCHED)
  const refused = await refusal(taking)
  if (refused !== undefined) return refused
  if (!(await taking)) return 'not honoured'
  await bob.subscribe(FENCE)
  for (const neighbour of upstream.neighbours) await neighbour.touch(WATCHED)
  await upstream.touch(WATCHED)
  await upstream.touch(FENCE)
  const { uri: shown } = upstream.place
  const heard = (peer: Peer, uri: string, what: string) =>
    until(() => peer.heard.updates.includes(shown(uri)), { what, timeoutMs: 60_000 })
  await heard(ann, WATCHED, 'the update')
  await heard(bob, FENCE, 'the update of the other resource')
  same([ann.heard.updates, bob.heard.updates], [[shown(WATCHED)], [shown(FENCE)]], 'updates')
  await ann.unsubscribe(WATCHED)
  await ann.subscribe(LATER)
  await upstream.touch(WATCHED)
  await upstream.touch(LATER)
  await heard(ann, LATER, 'the update of a third resource')
  same(ann.heard.updates, [WATCHED, LATER].map(shown), 'updates after unsubscribing')
  return 'works'
}

async function logMessages(cell: Cell): Promise<Outcome> {
  const { upstream } = cell
  const [ann, bob] = await cell.pairs.open('plain')
  if (upstream.kind.transport === 'openapi') {
    const refused = await refusal(ann.setLevel('debug'))
    if (refused !== undefined) return refused
    same(await textOf(ann.call('echo', { text: 'x' })), 'x', 'a call that named a level')
    same(ann.heard.logs, [], 'log messages')
    return 'none sent'
  }
  // One after the other: on pipes and on SSE a message does not say to which call it belongs.
  const talk = (peer: Peer, key: string) => textOf(peer.call('talk', { key }))
  const at = (key: string, levels: readonly string[]) => levels.map(level => [level, key])
  const since = async (peer: Peer, key: string, levels: readonly string[]): Promise<void> => {
    const before = [ann.heard.logs.length, bob.heard.logs.length]
    await talk(peer, key)
    const found = [ann.heard.logs.slice(before[0]), bob.heard.logs.slice(before[1])]
    const expected = at(key, levels)
    same(found, peer === ann ? [expected, []] : [[], expected], `log messages of "${key}"`)
  }
  await since(ann, 'of no level', cell.client.version >= '2026' ? [] : ['info', 'warning', 'error'])
  await ann.setLevel('error')
  await bob.setLevel('debug')
  await since(ann, 'from error up', ['error'])
  await since(bob, 'from debug up', ['debug', 'info', 'warning', 'error'])
  await since(ann, 'from error up again', ['error'])
  return 'works'
}

async function listChanged(cell: Cell): Promise<Outcome> {
  const { upstream, key } = cell
  const pair = await cell.pairs.open('plain')
  const [, bob] = pair
  const kinds: readonly ListKind[] =
    upstream.kind.transport === 'openapi' ? ['tools'] : ['tools', 'prompts', 'resources']
  await Promise.all(pair.map(peer => peer.watchLists()))
  const name = `grown_${key}`
  /** The lists that show it, with the client. */
  const listed = async (): Promise<readonly string[]> => {
    const looks = pair.flatMap((peer, at) =>
      kinds.map(async kind => ((await peer.names(kind)).includes(name) ? [`${kind} ${at}`] : [])),
    )
    return (await Promise.all(looks)).flat()
  }
  same(await listed(), [], 'where it is listed before it has come')
  const counts = () => pair.map(({ heard }) => kinds.map(kind => heard.changes[kind]))
  const before = counts()
  await upstream.grow(name)
  const told = () => counts().every((row, at) => row.every((count, kind) => count > (before[at]?.[kind] ?? 0)))
  const everywhere = pair.flatMap((_, at) => kinds.map(kind => `${kind} ${at}`))
  let looked = ''
  let found: readonly string[] = []
  // A notice of an earlier change may come late: this looks again after each notice, so the last look sees the change.
  const seen = async (): Promise<boolean> => {
    const now = JSON.stringify(counts())
    if (!told() || now === looked) return false
    looked = now
    found = await listed()
    return found.length === everywhere.length
  }
  await until(seen, { what: 'the notice with which all is listed', timeoutMs: 60_000 }).catch((error: Error) => {
    throw new Error(`${error.message}; it was listed in: ${found.join(', ')}`)
  })
  same(await textOf(bob.call(name, {})), `this is ${name}`, 'a call of the new tool')
  return 'works'
}
