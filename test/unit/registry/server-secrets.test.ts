import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { openWorld, refusal, type World, wrongFields } from './world.ts'

let world: World
beforeEach(async () => {
  world = await openWorld()
})
afterEach(() => world.end())

const KEY = 'sk-canary-0123456789-1f3c'
const servers = () => world.registry.servers
const body = (more: object = {}) => ({
  name: 's',
  url: 'https://mcp.example/mcp',
  headers: { Authorization: `Bearer ${KEY}`, Accept: 'text/plain' },
  ...more,
})

describe('masking', () => {
  test('secrets are found by name, stored sealed and shown masked', async () => {
    const made = await servers().create(world.bob, body({ variables: { API_KEY: KEY, CITY: 'Ulm' } }))
    expect(made.secrets).toEqual(['/headers/Authorization', '/variables/API_KEY'])
    expect(servers().publicBody(made)).toMatchObject({
      headers: { Authorization: '••••1f3c', Accept: 'text/plain' },
      variables: { API_KEY: '••••1f3c', CITY: 'Ulm' },
    })
    expect(JSON.stringify(made)).not.toContain('canary')
    const rows = await world.store.db.selectFrom('server').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain('canary')
    expect(JSON.stringify(world.events)).not.toContain('canary')
    const { settings } = await servers().effective(made.id)
    expect(settings.config.headers).toEqual({ Authorization: `Bearer ${KEY}`, Accept: 'text/plain' })
  })

  test('the mask sent back keeps the stored value', async () => {
    const made = await servers().create(world.bob, body())
    const changed = await servers().replace(world.bob, 's', { ...servers().publicBody(made), timeout: 5 })
    expect(changed.config).toEqual(made.config)
    const { settings } = await servers().effective(made.id)
    expect(settings.config.headers).toMatchObject({ Authorization: `Bearer ${KEY}` })
  })

  test('a mask that fits nothing in its field is refused', async () => {
    await servers().create(world.bob, body())
    const masked = (more: object) => wrongFields(servers().replace(world.bob, 's', body(more)))
    expect(await masked({ headers: { Authorization: '••••ffff' } })).toEqual(['secret_mask #/headers/Authorization'])
    expect(await masked({ headers: { 'X-Echo': '••••1f3c' } })).toEqual(['secret_mask #/headers/X-Echo'])
    expect(await masked({ variables: { A: '••••' } })).toEqual(['secret_mask #/variables/A'])
    const fresh = servers().create(world.cleo, body({ headers: { Authorization: '••••1f3c' } }))
    expect(await wrongFields(fresh)).toEqual(['secret_mask #/headers/Authorization'])
  })

  test('a stored secret stays one though the body says there are none', async () => {
    await servers().create(world.bob, body())
    const changed = await servers().patch(world.bob, 's', { secrets: [] })
    expect(servers().publicBody(changed)).toMatchObject({ headers: { Authorization: '••••1f3c' } })
  })

  test('a field that its owner listed as no secret stays none, and a new one is found', async () => {
    await servers().create(world.bob, body({ secrets: [], headers: { 'X-Key-Id': 'public-identifier' } }))
    const changed = await servers().patch(world.bob, 's', { headers: { 'X-Api-Key': KEY } })
    expect(changed.secrets).toEqual(['/headers/X-Api-Key'])
  })

  test('a pointer to more than one text is refused', async () => {
    const wrong = servers().create(world.bob, body({ secrets: ['/headers'] }))
    expect(await wrongFields(wrong)).toEqual(['format #/secrets/0'])
  })

  test('short secrets show nothing of themselves', async () => {
    const made = await servers().create(world.bob, body({ headers: { 'X-Token': 'hunter2' } }))
    expect(servers().publicBody(made)).toMatchObject({ headers: { 'X-Token': '••••' } })
  })

  test('a sealed value that is moved to another record does not open', async () => {
    const his = await servers().create(world.bob, body())
    const hers = await servers().create(world.cleo, body({ headers: {} }))
    const { config } = await world.store.db
      .selectFrom('server')
      .select('config')
      .where('id', '=', his.id)
      .executeTakeFirstOrThrow()
    await world.store.db.updateTable('server').set({ config }).where('id', '=', hers.id).execute()
    expect((await refusal(servers().effective(hers.id))).code).toBe('config_invalid')
  })
})

describe('moving', () => {
  test('somebody else who changes the address must know the secrets', async () => {
    await servers().create(world.bob, body())
    const moved = servers().patch(world.ada, 'bob~s', { url: 'https://evil.example/mcp' })
    expect(await wrongFields(moved)).toEqual(['secret_required #/headers/Authorization'])
    const other = servers().patch(world.ada, 'bob~s', { url: 'https://mcp.example/other' })
    expect(await wrongFields(other)).toEqual(['secret_required #/headers/Authorization'])
    await servers().patch(world.ada, 'bob~s', { description: 'x' })
    await servers().patch(world.ada, 'bob~s', { url: 'https://a.example/', headers: { Authorization: 'Bearer mine' } })
    await servers().patch(world.bob, 's', { url: 'https://mine.example/' })
  })

  test('an origin that is changed by a variable counts', async () => {
    const url = `https://${'$'}{HOST}/mcp`
    await servers().create(world.bob, body({ url, variables: { HOST: 'mcp.example' } }))
    const moved = servers().patch(world.ada, 'bob~s', { variables: { HOST: 'evil.example' } })
    expect(await wrongFields(moved)).toEqual(['secret_required #/headers/Authorization'])
  })

  test('a new owner must know the secrets', async () => {
    await servers().create(world.bob, body())
    const moved = servers().patch(world.ada, 'bob~s', { owner: 'cleo' })
    expect(await wrongFields(moved)).toEqual(['secret_required #/headers/Authorization'])
    const entered = await servers().patch(world.ada, 'bob~s', { owner: 'cleo', headers: { Authorization: 'new' } })
    expect(entered.ownerName).toBe('cleo')
    expect((await refusal(servers().resolve(world.bob, 's', 'see'))).code).toBe('server_not_found')
  })
})

describe('effective', () => {
  test('fills variables in and names the secrets in both forms', async () => {
    const url = `https://mcp.example/?k=${'$'}{API_KEY}`
    const made = await servers().create(world.bob, { name: 'v', url, variables: { API_KEY: KEY } })
    const effective = await servers().effective(made.id)
    expect(effective.settings.config).toEqual({ url: `https://mcp.example/?k=${KEY}` })
    expect(effective.secrets).toContain(KEY)
    await servers().create(world.cleo, { name: 'w', url, variables: { API_KEY: 'another-key-of-cleo' } })
    expect((await servers().effective(made.id)).secrets).toEqual(effective.secrets)
    const draft = await servers().draft(world.bob, { name: 'd', url, variables: { API_KEY: 'only-of-the-draft' } })
    expect(draft.secrets).toContain('only-of-the-draft')
    expect(draft.secrets).not.toContain(KEY)
  })

  test('has another hash only when a new connection is needed', async () => {
    const { id } = await servers().create(world.bob, body())
    const hash = async () => (await servers().effective(id)).configHash
    const before = await hash()
    await servers().patch(world.bob, 's', { description: 'x', timeout: 7 })
    expect(await hash()).toBe(before)
    await servers().patch(world.bob, 's', { headers: { Authorization: 'Bearer another' } })
    expect(await hash()).not.toBe(before)
  })
})
