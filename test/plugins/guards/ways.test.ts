/** Rules, quotas and approvals act on every way to a tool alike: for an assistant on its WebSocket as at `/mcp` and over REST. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { sharedFixture } from '../../mcp/shared-fixture.ts'
import { Device } from '../../support/assistant-device.ts'
import { type Client, type Hub, LOOPBACK, stdioFixture } from '../../support/hub.ts'
import { startOnline } from '../../support/online-hub.ts'
import { callText } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'
import { checked } from './planted.ts'

setDefaultTimeout(60_000)

const mirror = { command: process.execPath, args: [join(import.meta.dir, 'fixtures/mirror.ts')], session: 'shared' }
const HOLD_SECONDS = 1
const secret = () => `ghp_${checked()}`
const MASKED = '[masked:github_token]'

let hub: Hub
let admin: Client
let device: Device

beforeAll(async () => {
  const settings = {
    plugins: [{ use: 'approvals', config: { holdSeconds: HOLD_SECONDS } }],
    mcpServers: {
      ...{ files: { ...mirror, tags: ['Production'] }, plain: mirror, bank: sharedFixture('counting') },
      ...{
        asking: stdioFixture('asking'),
        tasks: { ...stdioFixture('extension-tasks', { WIRE: 'stdio' }), era: 'modern' },
      },
    },
  }
  ;({ hub, admin } = await startOnline({
    settings,
    env: { ...LOOPBACK, ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: 'the-key-of-every-endpoint' },
  }))
  await admin.ok('POST', '/api/groups', { name: 'work', members: ['files', 'plain', 'bank'], naming: 'prefixed' })
  const endpoint = { name: 'box', direction: 'inbound', group: 'work' }
  device = new Device(hub, (await admin.ok('POST', '/api/assistant/endpoints', endpoint)).token)
}, 120_000)
afterAll(async () => {
  device?.close()
  await hub?.stop()
}, 120_000)

const rules = (list: readonly object[], path = '/api/servers/files') =>
  admin.ok('PUT', `${path}/guards`, { rules: list })

describe('an assistant on its WebSocket', () => {
  test('gets masked results, and its arguments are masked for the server', async () => {
    await rules([{ id: 'keys', match: { secrets: true }, then: 'mask' }])
    expect(await device.text('files_mirror', { text: `the key ${secret()}` })).toBe(`the key ${MASKED}`)
    expect(await device.text('files_seen', {})).toContain(`the key ${MASKED}`)
    const { error } = await device.call('files_mirror', { error: `no ${secret()}` })
    expect(error?.message).toBe(`no ${MASKED}`)
    // The assistant gets 2,000 characters: the mark comes before the cut.
    const long = await device.text('files_mirror', { text: `${'x '.repeat(990)}${secret()}` })
    expect(long).toContain('[masked:')
    expect(long).not.toContain('ghp_')
  })

  test('has a call refused by a pattern, before the server gets it', async () => {
    await rules([{ id: 'orion', on: 'arguments', match: { pattern: 'project orion' }, then: 'refuse' }])
    const { result } = await device.call('files_mirror', { text: 'about Project Orion' })
    expect([result?.isError, result?.content[0]?.text]).toEqual([
      true,
      expect.stringContaining('guard_refused: The rule "orion" of the server "files" refuses this'),
    ])
    expect(await device.text('files_seen', {})).not.toContain('Orion')
    await rules([])
  })

  test('is refused by the rules of its group', async () => {
    await rules([{ id: 'lyra', match: { pattern: 'lyra' }, then: 'refuse' }], '/api/groups/work')
    expect(await device.text('plain_mirror', { text: 'lyra' })).toContain('of the group "work"')
    await rules([], '/api/groups/work')
  })

  test('uses up the quota of its server as other callers do', async () => {
    await admin.ok('PUT', '/api/servers/plain/quota', { quota: { perDay: 2 } })
    // The call that a rule refused before its server got it has not counted.
    expect(await device.text('plain_mirror', { text: 'one' })).toBe('one')
    expect(await callText(await admin.mcp('/mcp/plain'), 'mirror', { text: 'two' })).toBe('two')
    const { result, error } = await device.call('plain_mirror', { text: 'three' })
    expect([result, error?.message]).toEqual([
      undefined,
      expect.stringContaining('The 2 calls a day of the server "plain"'),
    ])
    const over = await admin.request('POST', '/api/servers/plain/tools/mirror/call', { arguments: { text: 'four' } })
    expect([over.status, over.json.code]).toEqual([429, 'quota_day'])
    await admin.ok('PUT', '/api/servers/plain/quota', { quota: {} })
  })

  test('waits for a decision: yes, no, and silence', async () => {
    await admin.ok('PUT', '/api/servers/bank/approvals', {
      rules: [{ when: { tools: ['pay'] }, then: 'ask', who: 'owner' }],
    })
    const paid = () => device.text('bank_paid', {})
    /** Sends the call again while it waits, as its error says. */
    const pay = async (args: object): Promise<string> => {
      const text = await device.text('bank_pay', args)
      return text.includes('waits for a decision') ? pay(args) : text
    }
    // An earlier request, which nobody decided, may wait as well.
    const decide = async (decision: string, amount: number) => {
      const isOfAmount = (request: object): boolean => JSON.stringify(request).includes(`"amount":${amount}`)
      const { id } = await until(
        async (): Promise<{ id: string } | undefined> =>
          (await admin.ok('GET', '/api/approvals?state=pending')).items.find(isOfAmount),
        { what: `a request to pay ${amount}` },
      )
      await admin.ok('POST', `/api/approvals/${id}`, { decision })
    }
    const yes = pay({ amount: 1 })
    await decide('approve', 1)
    expect([await yes, await paid()]).toEqual(['1', '1'])
    const no = pay({ amount: 2 })
    await decide('deny', 2)
    expect([await no, await paid()]).toEqual([expect.stringContaining('approval_denied'), '1'])
    const silence = await device.call('bank_pay', { amount: 3 })
    expect([silence.error !== undefined, await paid()]).toEqual([true, '1'])
    // A yes after that lets the same call pass, once.
    await decide('approve', 3)
    expect([await device.text('bank_pay', { amount: 3 }), await paid()]).toEqual(['2', '2'])
    const second = await device.call('bank_pay', { amount: 3 })
    expect([second.error !== undefined, await paid()]).toEqual([true, '2'])
    // A yes is not used up by a call that a rule refuses.
    const payment = { amount: 4, token: secret() }
    await device.call('bank_pay', payment)
    await decide('approve', 4)
    await rules([{ id: 'keys', match: { secrets: true }, then: 'refuse' }], '/api/servers/bank')
    const refused = await device.text('bank_pay', payment)
    expect([refused, await paid()]).toEqual([expect.stringContaining('guard_refused'), '2'])
    await rules([], '/api/servers/bank')
    expect([await device.text('bank_pay', payment), await paid()]).toEqual(['3', '3'])
    await admin.ok('PUT', '/api/servers/bank/approvals', { rules: [] })
  })
})

test('the rules of a group act on calls of its tools over REST', async () => {
  await rules([{ id: 'keys', match: { secrets: true }, then: 'mask' }], '/api/groups/work')
  const call = (path: string) => admin.request('POST', path, { text: secret() })
  expect((await call('/api/groups/work/tools/plain_mirror')).text).toContain(MASKED)
  await rules([], '/api/groups/work')
})

test('questions of a server, and the answers of clients of both eras, go through its rules', async () => {
  await rules([{ id: 'keys', match: { secrets: true }, then: 'mask' }], '/api/servers/asking')
  const token = secret()
  const client = await admin.mcp('/mcp/asking', {
    capabilities: { elicitation: {} },
    prepare: one =>
      one.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept' as const, content: { name: token } })),
  })
  const answered = await callText(client, 'elicit')
  expect(JSON.parse(answered)).toMatchObject({ action: 'accept', content: { name: MASKED } })
  const modern = new RawModern(hub, '/mcp/asking', await admin.mcpKey())
  const capabilities = { elicitation: { form: {} } }
  const asked = await modern.call('tools/call', { name: 'elicit', arguments: {} }, { capabilities })
  const [key = ''] = Object.keys(asked.result.inputRequests)
  const inputResponses = { [key]: { action: 'accept', content: { name: token } } }
  const { requestState } = asked.result
  const { result } = await modern.call(
    ...([
      'tools/call',
      { name: 'elicit', arguments: {}, requestState, inputResponses } as never,
      { capabilities },
    ] as const),
  )
  expect(JSON.parse(result.content[0].text)).toMatchObject({ content: { name: MASKED } })
})

test('the result of a task that is fetched later is masked, with its messages, whoever runs the task', async () => {
  await rules([{ id: 'keys', on: 'result', match: { secrets: true }, then: 'mask' }], '/api/servers/tasks')
  const label = secret()
  const args = { seconds: 0.5, label }
  const said: (string | undefined)[] = []
  const client = await admin.mcp('/mcp/tasks')
  const call = { name: 'slow_compute', arguments: args }
  const ended = await client.callTool(call, undefined, { onprogress: ({ message }) => void said.push(message) })
  expect(JSON.stringify(ended)).toContain(MASKED)
  expect(said).toContain(`works on ${MASKED}`)
  const modern = new RawModern(hub, '/mcp/tasks', await admin.mcpKey())
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const { result: made } = await modern.call('tools/call', call as never, { capabilities })
  expect(made.resultType).toBe('task')
  const seen = [JSON.stringify(made)]
  await until(
    async () => {
      const { result } = await modern.call('tasks/get', { taskId: made.taskId } as never, { capabilities })
      seen.push(JSON.stringify(result))
      return result.status === 'completed'
    },
    { what: 'the end of the task' },
  )
  expect(seen.at(-1)).toContain(MASKED)
  expect([...seen, JSON.stringify(ended), said.join()].join()).not.toContain(label.slice(4, 30))
})

test('lines of a log are masked with the name of their logger, and keep where they came from', async () => {
  await rules([
    { id: 'keys', on: 'result', match: { secrets: true }, then: 'mask' },
    { id: 'stream', on: 'result', match: { pattern: 'stderr' }, then: 'mask' },
  ])
  const token = secret()
  await callText(await admin.mcp('/mcp/files'), 'mirror', {
    notes: [`note ${token}`],
    logger: `by ${token}`,
    text: 'x',
  })
  const line = await until(
    async () =>
      (await admin.ok('GET', '/api/logs/search?q=note&limit=50')).items.find(
        ({ message }: { message: string }) => message === `note ${MASKED}`,
      ),
    { what: 'the line' },
  )
  expect(JSON.stringify(line)).toContain(`by ${MASKED}`)
  await callText(await admin.mcp('/mcp/files'), 'mirror', { stderr: `to stderr ${token}`, text: 'x' })
  await hub.logged(`to [masked:stream] ${MASKED}`)
  expect(hub.log()).toContain('"stream":"stderr"')
  expect(hub.log()).not.toContain(token.slice(4, 30))
  await rules([])
})

describe('tags of a rule', () => {
  const text = () => ({ text: `a ${secret()}` })
  const answer = async (path: string, tool = 'mirror') => callText(await admin.mcp(path), tool, text())

  test('limit it to the servers that have one of them, whatever its case', async () => {
    const rule = { id: 'keys', match: { secrets: true }, then: 'mask' }
    await admin.ok('PATCH', '/api/admin/plugins/guards', {
      config: {
        rules: [
          { ...rule, tags: ['staging', 'PRODUCTION'] },
          { id: 'spice', on: 'result', match: { pattern: 'saffron' }, then: 'mask', tags: ['production'] },
        ],
      },
    })
    expect(await answer('/mcp/files')).toBe(`a ${MASKED}`)
    expect(await answer('/mcp/plain')).not.toContain(MASKED)
    for (const path of ['/mcp/files', '/mcp/plain'])
      await callText(await admin.mcp(path), 'mirror', { stderr: `saffron at ${path}`, text: 'x' })
    // Lines of the log are those of one server, with the rules of its tags.
    for (const line of ['[masked:spice] at /mcp/files', 'saffron at /mcp/plain']) await hub.logged(line)
    await admin.ok('PATCH', '/api/servers/plain', { tags: ['staging'] })
    expect(await answer('/mcp/plain')).toBe(`a ${MASKED}`)
    await admin.ok('PATCH', '/api/servers/plain', { tags: [] })
    expect(await answer('/mcp/plain')).not.toContain(MASKED)
  })

  test('are also those of the group at whose path the call came', async () => {
    await admin.ok('PATCH', '/api/groups/work', { tags: ['Staging'] })
    expect(await answer('/mcp/work', 'plain_mirror')).toBe(`a ${MASKED}`)
    expect(await answer('/mcp/plain')).not.toContain(MASKED)
    const modern = new RawModern(hub, '/mcp/work', await admin.mcpKey())
    const { result } = await modern.call('prompts/get', { name: 'plain_say', arguments: text() } as never)
    expect(JSON.stringify(result)).toContain(MASKED)
    await admin.ok('PATCH', '/api/admin/plugins/guards', { config: { rules: [] } })
  })

  test('are seen by the role `use`, set by the role `change`, and found in lists', async () => {
    const ann = await hub.user('ann')
    for (const path of ['/api/servers/admin~plain', '/api/groups/admin~work']) {
      const own = path.replace('admin~', '')
      const share = (role: string) => admin.ok('PUT', `${own}/shares/user:ann`, { role })
      await admin.ok('PATCH', own, { tags: ['Blue'] })
      await share('use')
      expect((await ann.ok('GET', path)).tags).toEqual(['Blue'])
      expect((await ann.request('PATCH', path, { tags: ['red'] })).json.code).toBe('not_owner')
      await share('change')
      expect((await ann.ok('PATCH', path, { tags: ['Red'] })).tags).toEqual(['Red'])
      const list = path.slice(0, path.lastIndexOf('/'))
      const found = async (tag: string) => (await ann.ok('GET', `${list}?scope=visible&tag=${tag}`)).items.length
      expect([await found('red'), await found('blue')]).toEqual([1, 0])
    }
  })
})
