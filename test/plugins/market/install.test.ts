// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of the hub, not template strings
/** The market: the entries it takes from sources, the plan of an installation, and that an installation does exactly that. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { withMark } from '../../../core/plans/planned.ts'
import { draftInstall } from '../../../plugins/market/plan.ts'
import { checkTemplate, unusable } from '../../../plugins/market/template-check.ts'
import type { MarketTemplate } from '../../../plugins/market/types.ts'
import { type Client, type Hub, startHub } from '../../support/hub.ts'

const TEMPLATE: MarketTemplate = {
  ...{ name: 'files', title: 'Files', description: { en: 'Reads files', zh: '读取文件' }, version: '1.0.0' },
  categories: ['files', 'odd'],
  variants: [
    {
      ...{ id: 'npm', kind: 'npm', package: '@scope/files', version: '1.0.0' },
      ...{ args: ['--root={root}', '{folder}'], env: { TOKEN: '{token}', MODE: 'a${b}' } },
    },
    { id: 'remote', kind: 'remote', url: 'https://{host}/mcp', headers: { Authorization: 'Bearer {token}' } },
  ],
  inputs: [{ name: 'root' }, { name: 'folder', required: true }, { name: 'token', secret: true }, { name: 'host' }],
}

/** Entries of ten publishers; `npm.long.test.ts` installs them. */
const TEN = [
  ...['memory', 'context7', 'eslint', 'reddit', 'mui'],
  ...['drawio', 'antv-chart', 'airbnb', 'git', 'code-runner'],
]

const wish = (inputs: Record<string, string>, variant = 'npm') => {
  return { id: 's:files', name: 'x', variant, inputs, start: false, request: { requestId: 'r', clientAddress: '' } }
}

describe('a template', () => {
  test('is data within limits; words that are no category are tags', () => {
    expect(checkTemplate(TEMPLATE)).toMatchObject({ categories: ['files'], tags: ['odd'] })
    const wrong: readonly object[] = [
      { title: '' },
      { title: 'a\nb' },
      { title: 'x'.repeat(101) },
      { homepage: 'javascript:alert(1)' },
      { homepage: 'http://example.com/' },
      { variants: [] },
      { inputs: [{ name: 'a' }, { name: 'a' }] },
      { inputs: Array.from({ length: 41 }, (_, at) => ({ name: `i${at}` })) },
      { command: 'sh' },
      { variants: [{ id: 'c', kind: 'command', command: 'sh' }] },
      { variants: [{ id: 'npm', kind: 'npm', args: Array.from({ length: 100 }, () => 'x'.repeat(4_000)) }] },
    ]
    for (const change of wrong) expect(checkTemplate({ ...TEMPLATE, ...change })).toBeUndefined()
    for (const other of [null, 'x', 1, []]) expect(checkTemplate(other)).toBeUndefined()
  })

  test.each([
    ['npm', 'a', '1.2.3', true],
    ['npm', '@a/b', '1.2.3-beta.1', true],
    ['npm', 'a', '^1.2.3', false],
    ['npm', 'a', 'latest', false],
    ['npm', 'a', '1.x', false],
    ['npm', 'a', undefined, false],
    ['npm', '../a', '1.2.3', false],
    ['npm', 'git+https://x/y', '1.2.3', false],
    ['npm', 'file:/etc', '1.2.3', false],
    ['npm', 'a@2.0.0', '1.2.3', false],
    ['npm', '--registry=https://x', '1.2.3', false],
    ['pypi', 'a-b', '0.0.1a8', true],
    ['pypi', 'a', '>=1', false],
    ['pypi', '-a', '1.0', false],
  ] as const)('%s %s %s: usable %p', (kind, id, version, expected) => {
    const given = version === undefined ? {} : { version }
    expect(unusable({ id: 'v', kind, package: id, ...given }) === undefined).toBe(expected)
  })

  test.each([
    ['https://example.com/mcp', true],
    ['http://example.com/mcp', false],
    ['https://a:b@example.com/', false],
    ['file:///etc/passwd', false],
  ])('%s: usable %p', (url, expected) => {
    expect(unusable({ id: 'v', kind: 'remote', url }) === undefined).toBe(expected)
  })
})

describe('a plan', () => {
  test('puts what is entered into variables: one input is one word, and never part of another text', () => {
    const asked = wish({ folder: 'a b; rm -rf ${HOME}', token: 'secret-of-somebody' })
    const { body, shown } = draftInstall(TEMPLATE, asked)
    expect(body).toEqual({
      ...{ name: 'x', enabled: false, transport: 'stdio', command: 'npx' },
      args: ['-y', '@scope/files@1.0.0', '${FOLDER}'],
      env: { TOKEN: '${TOKEN}', MODE: 'a$${b}' },
      variables: { FOLDER: 'a b; rm -rf $${HOME}', TOKEN: 'secret-of-somebody' },
      secrets: ['/variables/TOKEN'],
    })
    expect(shown.argv).toEqual(['npx', '-y', '@scope/files@1.0.0', 'a b; rm -rf ${HOME}'])
    expect(JSON.stringify(shown)).not.toContain('secret-of-somebody')
  })

  test('changes with the inputs, the name, the user and the template', async () => {
    const hash = async (template: MarketTemplate, asked = wish({ folder: 'a' }), userId = 'ann') =>
      (await withMark({ userId }, draftInstall(template, asked))).planHash
    const first = await hash(TEMPLATE)
    expect(await hash(structuredClone(TEMPLATE))).toBe(first)
    const others = await Promise.all([
      hash(TEMPLATE, wish({ folder: 'b' })),
      hash(TEMPLATE, { ...wish({ folder: 'a' }), name: 'y' }),
      hash(TEMPLATE, { ...wish({ folder: 'a' }), start: true }),
      hash(TEMPLATE, wish({ folder: 'a' }), 'bob'),
      hash({ ...TEMPLATE, version: '1.0.1' }),
      // Parts that the plan does not show.
      hash({ ...TEMPLATE, description: 'Reads all files' }),
      hash(TEMPLATE, { ...wish({ folder: 'a' }), id: 't:files' }),
      hash(TEMPLATE, wish({ folder: 'a', token: 'one-secret' })),
      hash(TEMPLATE, wish({ folder: 'a', token: 'other-secret' })),
    ])
    expect(new Set([first, ...others]).size).toBe(10)
  })

  test('names what is missing, and refuses options, unknown inputs and variants', () => {
    expect(draftInstall(TEMPLATE, wish({})).missing).toEqual(['folder'])
    expect(() => draftInstall(TEMPLATE, wish({ folder: '--help' }))).toThrow('option of the program')
    expect(() => draftInstall(TEMPLATE, wish({ folder: 'a', other: 'b' }))).toThrow('no input')
    expect(() => draftInstall(TEMPLATE, wish({}, 'none'))).toThrow('no such variant')
    expect(draftInstall(TEMPLATE, wish({ folder: 'a', host: 'example.com', token: 't' }, 'remote')).body).toEqual({
      ...{ name: 'x', enabled: false, transport: 'streamable-http', url: 'https://${HOST}/mcp' },
      headers: { Authorization: 'Bearer ${TOKEN}' },
      variables: { HOST: 'example.com', TOKEN: 't' },
      secrets: ['/variables/TOKEN'],
    })
  })
})

describe('a hub', () => {
  let hub: Hub
  let admin: Client
  beforeAll(async () => {
    hub = await startHub({})
    admin = await hub.setup()
  }, 120_000)
  afterAll(() => hub?.stop(), 120_000)

  const install = (id: string, body: object, query = '') =>
    admin.request('POST', `/api/market/templates/${id}/install${query}`, body)

  test('every bundled entry can be planned; English and Chinese words find them', async () => {
    const { items, total } = await admin.ok('GET', '/api/market/templates?limit=500')
    expect(total).toBeGreaterThanOrEqual(60)
    for (const { id, inputs, description } of items) {
      expect(description.zh).toMatch(/\p{Script=Han}/u)
      const given = Object.fromEntries(inputs.map(({ name }: { name: string }) => [name, 'x1']))
      const answer = await install(id, { inputs: given }, '?dryRun=true')
      expect([id, answer.status, answer.json.missing]).toEqual([id, 200, []])
      // A user has 50 requests a second.
      await Bun.sleep(25)
    }
    const found = async (q: string) =>
      (await admin.ok('GET', `/api/market/templates?q=${encodeURIComponent(q)}`)).items.map(
        ({ name }: { name: string }) => name,
      )
    expect((await found('github'))[0]).toBe('github')
    expect(await found('知识图谱')).toEqual(['memory'])
    expect(await found('no such thing at all')).toEqual([])
    const files = await admin.ok('GET', '/api/market/templates?category=files')
    const { items: categories } = await admin.ok('GET', '/api/market/categories')
    expect(categories).toContainEqual({ name: 'files', templates: files.total })
    expect((await admin.ok('GET', '/api/market/sources')).items).toMatchObject([
      { id: 'bundled', origin: 'bundled', state: 'ready', templates: total, leftOut: 0 },
    ])
  }, 120_000)

  test('installs what was planned, switched off, with its secrets sealed', async () => {
    const wanted = { name: 'hub-git', inputs: { GITHUB_PERSONAL_ACCESS_TOKEN: 'a-token-canary-of-github' } }
    const id = 'bundled:github-local'
    const unseen = await install(id, wanted)
    expect([unseen.status, unseen.json.errors[0].pointer]).toEqual([400, '#/planHash'])
    const plan = (await install(id, wanted, '?dryRun=true')).json
    expect(plan.warnings).toContain('Its authors do not maintain it any more')
    expect(JSON.stringify(plan)).not.toContain('canary')
    const other = await install(id, { ...wanted, name: 'other', planHash: plan.planHash })
    expect([other.status, other.json.code]).toEqual([409, 'plan_changed'])
    const made = await install(id, { ...wanted, planHash: plan.planHash })
    expect([made.status, made.json.name, made.json.enabled]).toEqual([201, 'hub-git', false])
    const shown = await admin.request('GET', '/api/servers/hub-git')
    expect(shown.json).toMatchObject({ command: 'npx', variables: { GITHUB_PERSONAL_ACCESS_TOKEN: '••••thub' } })
    expect(`${shown.text}${hub.log()}`).not.toContain('canary')
    const missing = await install('bundled:filesystem', { planHash: '0'.repeat(64) })
    expect(missing.json.errors).toMatchObject([{ pointer: '#/inputs/allowed_directory', code: 'required' }])
    expect((await install('bundled:nothing', { planHash: '0'.repeat(64) })).json.code).toBe('template_not_found')
    const variant = await install('bundled:memory', { variant: 'oci' }, '?dryRun=true')
    expect([variant.status, variant.json.code]).toEqual([409, 'template_unusable'])
    expect((await admin.request('POST', '/api/market/sources/none/refresh')).json.code).toBe('source_not_found')
    expect((await admin.ok('POST', '/api/market/sources/bundled/refresh')).state).toBe('ready')
  })

  test('ten entries of ten publishers would each start one exact version for an ordinary user, and need nothing to be entered', async () => {
    const bob = await hub.user('bob')
    const plan = (name: string) =>
      bob.request('POST', `/api/market/templates/bundled:${name}/install?dryRun=true`, {
        name,
        inputs: {},
        start: true,
      })
    // Without a sandbox an ordinary user may not start programs at all.
    if ((await bob.ok('GET', '/health')).checks.sandbox !== 'full') {
      expect((await plan('memory')).status).toBe(403)
      return
    }
    const publishers = new Set<string>()
    for (const name of TEN) {
      const { argv, missing, version } = (await plan(name)).json
      const isExact = argv[2].endsWith(`@${version}`)
      expect([name, missing, argv.slice(0, 2), isExact]).toEqual([name, [], ['npx', '-y'], true])
      publishers.add((await bob.ok('GET', `/api/market/templates/bundled:${name}`)).publisher)
    }
    expect(publishers.size).toBe(TEN.length)
  })
})
