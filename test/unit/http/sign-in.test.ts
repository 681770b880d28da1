import { describe, expect, test } from 'bun:test'
import { RefusedSignIns } from '../../../core/auth/refused-sign-ins.ts'
import { HUB, PASSWORD, startHttp, type TestHttp } from './server.ts'

const NEW = 'an entirely other sentence 9'
const code = async (response: Response) => [response.status, (await response.json()).code]
const login = (hub: TestHttp, username: unknown, password: unknown) =>
  hub.send('POST', '/api/auth/login', { username, password })

describe('set-up', () => {
  test('the token of the log makes the first administrator, once', async () => {
    await using hub = await startHttp({ empty: true, setupToken: 'k3j9-x2m4' })
    const setup = (body: object) => hub.send('POST', '/api/setup', body)
    expect(await (await hub.get('/api/setup')).json()).toEqual({ open: true })
    expect(await code(await setup({ token: 'wrong', username: 'ada', password: PASSWORD }))).toEqual([
      401,
      'token_invalid',
    ])
    const weak = await setup({ token: 'k3j9-x2m4', username: 'a b', password: 'short' })
    expect((await weak.json()).errors).toMatchObject([
      { pointer: '#/username', code: 'name_invalid' },
      { pointer: '#/password', code: 'password_weak' },
    ])
    const made = await setup({ token: 'k3j9-x2m4', username: 'ada', password: PASSWORD })
    const { token, user } = await made.json()
    expect([made.status, user.name, user.role]).toEqual([201, 'ada', 'admin'])
    expect((await hub.get('/api/auth/me', token)).status).toBe(200)
    expect(await code(await hub.get('/api/setup'))).toEqual([404, 'route_not_found'])
    expect(await code(await setup({ token: 'k3j9-x2m4', username: 'eve', password: PASSWORD }))).toEqual([
      404,
      'route_not_found',
    ])
    expect(await hub.audited()).toEqual(['setup.failed', 'setup.complete'])
  })

  test('without a token nothing can be set up', async () => {
    await using hub = await startHttp({ empty: true })
    expect((await hub.get('/api/setup')).status).toBe(404)
  })
})

describe('sign-in', () => {
  test('name and password give a session, in any letter case of the name', async () => {
    await using hub = await startHttp()
    const response = await login(hub, 'ADA', PASSWORD)
    const { token, expiresAt, user } = await response.json()
    expect(response.status).toBe(200)
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(11.9 * 3600_000)
    expect(user).toMatchObject({ name: 'ada', role: 'admin' })
    expect(JSON.stringify(user)).not.toContain('argon2')
    expect(await (await hub.get('/api/auth/me', token)).json()).toMatchObject({ name: 'ada', credential: 'session' })
    expect(await hub.audited()).toEqual(['auth.login'])
  })

  test('an unknown name, a wrong password and a disabled user get the same answer', async () => {
    await using hub = await startHttp()
    await hub.person('bob', { passwordHash: await hub.auth.passwords.hash(PASSWORD) })
    await hub.registry.users.update(HUB, 'bob', { disabled: true })
    await hub.person('nohash')
    const bodies = []
    for (const [name, password] of [
      ['nobody', PASSWORD],
      ['ada', 'wrong'],
      ['bob', PASSWORD],
      ['nohash', PASSWORD],
    ]) {
      const response = await login(hub, name, password)
      const { requestId, ...rest } = await response.json()
      bodies.push(JSON.stringify([response.status, rest]))
    }
    expect(new Set(bodies).size).toBe(1)
    expect(bodies[0]).toContain('login_failed')
  })

  test.each([
    ['a proxy that is not listed', [], '127.0.0.1'],
    ['a listed proxy', ['127.0.0.1'], '203.0.113.9'],
  ])('the audit has the client’s address, of a refused one too, behind %s', async (_, trustedProxies, address) => {
    await using hub = await startHttp({ config: { trustedProxies } })
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': '10.9.9.9, 203.0.113.9' }
    for (const password of ['wrong', PASSWORD]) {
      const body = JSON.stringify({ username: 'ada', password })
      await hub.get('/api/auth/login', undefined, { method: 'POST', headers, body })
    }
    await hub.registry.audit.flush()
    const { items } = await hub.registry.audit.list(HUB, { limit: 10, offset: 0 })
    expect(items.map(item => [item.action, item.address, typeof item.requestId])).toEqual([
      ['auth.login', address, 'string'],
      ['auth.login_failed', address, 'string'],
    ])
  })

  test('the audit has attempts that were slowed down and wrong set-up tokens, one a minute and address', async () => {
    await using hub = await startHttp({
      config: { trustedProxies: ['127.0.0.1'] },
      setupToken: 'the right token',
      empty: true,
    })
    const noted = async () => {
      await hub.registry.audit.flush()
      const { items } = await hub.registry.audit.list(HUB, { limit: 100, offset: 0 })
      return items.map(({ action, address, user, detail }) => [action, address, user, detail]).toReversed()
    }
    const setUp = (from: string) => {
      const headers = { 'content-type': 'application/json', 'x-forwarded-for': from }
      const body = JSON.stringify({ token: 'another token', username: 'ada', password: PASSWORD })
      return hub.get('/api/setup', undefined, { method: 'POST', headers, body })
    }
    const statuses: number[] = []
    for (let count = 0; count < 20; count += 1) statuses.push((await setUp('203.0.113.9')).status)
    expect(statuses.slice(0, 5)).toEqual([401, 401, 401, 401, 401])
    expect(statuses.slice(6)).toContain(429)
    expect((await setUp('203.0.113.10')).status).toBe(401)
    expect(await noted()).toEqual([
      ['setup.failed', '203.0.113.9', 'set-up', { unnoted: 0 }],
      ['auth.login_throttled', '203.0.113.9', 'set-up', { unnoted: 0 }],
      ['setup.failed', '203.0.113.10', 'set-up', { unnoted: 0 }],
    ])
  })

  test('refusals that were not noted are counted in the next row', () => {
    let nowMs = 0
    const refused = new RefusedSignIns(() => nowMs)
    const at = (ms: number) => {
      nowMs = ms
      return refused.note('setup.failed', '203.0.113.9')
    }
    expect([0, 1, 59_999, 60_000, 60_001, 180_000].map(at)).toEqual([0, undefined, undefined, 2, undefined, 1])
    expect(refused.note('auth.login_throttled', '203.0.113.9')).toBe(0)
  })

  test('a wrong present password and a sign-in that is slowed down are in the audit', async () => {
    await using hub = await startHttp()
    const token = await hub.tokenOf('ada')
    const change = { currentPassword: 'wrong', newPassword: 'another long sentence 42' }
    expect((await hub.send('POST', '/api/auth/password', change, token)).status).toBe(403)
    for (let failure = 2; failure <= 5; failure += 1) await login(hub, 'ada', 'wrong')
    for (let early = 0; early < 3; early += 1) expect((await login(hub, 'ada', 'wrong')).status).toBe(429)
    const actions = await hub.audited()
    expect(actions.filter(action => action === 'auth.login_throttled').length).toBe(1)
    expect(actions.filter(action => action === 'auth.password_failed').length).toBe(1)
    expect(actions.filter(action => action === 'auth.login_failed').length).toBe(4)
  })

  test('the sixth failure is 429 with Retry-After, for the right password too', async () => {
    await using hub = await startHttp()
    for (let failure = 1; failure <= 5; failure += 1) expect((await login(hub, 'ada', 'wrong')).status).toBe(401)
    const response = await login(hub, 'ada', PASSWORD)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await code(response)).toEqual([429, 'login_throttled'])
  })

  test('an imported bcrypt hash signs in and is argon2id afterwards', async () => {
    await using hub = await startHttp()
    const passwordHash = await Bun.password.hash(PASSWORD, { algorithm: 'bcrypt', cost: 4 })
    await hub.person('bob', { passwordHash })
    expect((await login(hub, 'bob', PASSWORD)).status).toBe(200)
    expect((await hub.registry.users.credentials('bob'))?.passwordHash).toStartWith('$argon2id$')
    expect((await login(hub, 'bob', PASSWORD)).status).toBe(200)
  })

  test('an imported password that is tried first must be changed', async () => {
    await using hub = await startHttp()
    await hub.person('bob', { passwordHash: await Bun.password.hash('admin123', { algorithm: 'bcrypt', cost: 4 }) })
    const { token, user } = await (await login(hub, 'bob', 'admin123')).json()
    expect(user.mustChangePassword).toBe(true)
    expect(await code(await hub.get('/api/keys', token))).toEqual([403, 'password_change_required'])
  })

  test('while an imported hash is left, its time does not tell whose it is', async () => {
    await using hub = await startHttp()
    await hub.person('bob', { passwordHash: await Bun.password.hash(PASSWORD, { algorithm: 'bcrypt', cost: 10 }) })
    const refused = async (name: string) => {
      const begun = performance.now()
      expect((await login(hub, name, 'wrong')).status).toBe(401)
      return performance.now() - begun
    }
    const times = await Promise.all(['bob', 'ada', 'nobody'].map(refused))
    for (const ms of times) expect(ms).toBeGreaterThanOrEqual(1_999)
    await login(hub, 'bob', PASSWORD)
    // At least one must be quick: a busy machine may take this long for the work of one password.
    const shortest = async (names: readonly string[], least = Number.POSITIVE_INFINITY): Promise<number> => {
      const [name, ...rest] = names
      return name === undefined || least < 1_900 ? least : shortest(rest, await refused(name))
    }
    expect(await shortest(['nobody', 'no-one', 'none', 'nil'])).toBeLessThan(1_900)
  })

  test('a body of another shape is refused field by field', async () => {
    await using hub = await startHttp()
    const response = await login(hub, { $ne: 1 }, undefined)
    expect((await response.json()).errors).toMatchObject([
      { pointer: '#/username', code: 'type' },
      { pointer: '#/password', code: 'required' },
    ])
  })
})

describe('a session', () => {
  test('logout ends this token and no other', async () => {
    await using hub = await startHttp()
    const [one, other] = [await hub.tokenOf('ada'), await hub.tokenOf('ada')]
    expect((await hub.get('/api/auth/logout', one, { method: 'POST' })).status).toBe(204)
    expect(await code(await hub.get('/api/auth/me', one))).toEqual([401, 'token_revoked'])
    expect((await hub.get('/api/auth/me', other)).status).toBe(200)
  })

  test('refresh gives a new token; an access key cannot become a session', async () => {
    await using hub = await startHttp()
    const old = await hub.tokenOf('ada')
    const { token } = await (await hub.get('/api/auth/refresh', old, { method: 'POST' })).json()
    expect((await hub.get('/api/auth/me', token)).status).toBe(200)
    const { secret } = await hub.key('ada', ['api'])
    for (const path of ['/api/auth/refresh', '/api/auth/logout']) {
      expect(await code(await hub.get(path, secret, { method: 'POST' }))).toEqual([403, 'insufficient_scope'])
    }
  })

  test('a password change wants the present one, ends all other sessions and brings a new one', async () => {
    await using hub = await startHttp()
    const [mine, other] = [await hub.tokenOf('ada'), await hub.tokenOf('ada')]
    const change = (currentPassword: string, newPassword: string) =>
      hub.send('POST', '/api/auth/password', { currentPassword, newPassword }, mine)
    expect(await code(await change('wrong', NEW))).toEqual([403, 'password_mismatch'])
    const weak = await (await change(PASSWORD, 'ada-ada-ada-ada')).json()
    expect(weak.errors).toMatchObject([{ pointer: '#/newPassword', code: 'password_weak' }])
    expect((await (await change(PASSWORD, PASSWORD)).json()).errors[0].code).toBe('password_weak')
    const { token } = await (await change(PASSWORD, NEW)).json()
    expect(await code(await hub.get('/api/auth/me', mine))).toEqual([401, 'token_revoked'])
    expect(await code(await hub.get('/api/auth/me', other))).toEqual([401, 'token_revoked'])
    expect((await hub.get('/api/auth/me', token)).status).toBe(200)
    expect((await login(hub, 'ada', NEW)).status).toBe(200)
  })
})

describe('users', () => {
  test('an administrator makes, changes and deletes people; others may not', async () => {
    await using hub = await startHttp()
    const ada = await hub.tokenOf('ada')
    const made = await hub.send('POST', '/api/admin/users', { username: 'bob', password: PASSWORD }, ada)
    expect([made.status, made.headers.get('location'), made.headers.get('etag')]).toEqual([
      201,
      `${hub.url}/api/admin/users/bob`,
      `"${(await hub.registry.users.byName(HUB, 'bob')).revision}"`,
    ])
    const bob = (await (await login(hub, 'bob', PASSWORD)).json()).token
    expect(
      await code(await hub.send('POST', '/api/admin/users', { username: 'eve', password: PASSWORD }, bob)),
    ).toEqual([403, 'admin_only'])
    const promoted = await hub.send('PATCH', '/api/admin/users/bob', { role: 'admin' }, ada)
    expect(await promoted.json()).toMatchObject({ name: 'bob', role: 'admin' })
    expect((await hub.get('/api/admin/users/bob', ada, { method: 'DELETE' })).status).toBe(204)
    expect(await code(await hub.get('/api/admin/users/bob', ada))).toEqual([404, 'user_not_found'])
    expect(await hub.audited()).toEqual(['user.create', 'auth.login', 'user.update', 'user.delete'])
  })

  test('somebody whose password was reset can do nothing but change it', async () => {
    await using hub = await startHttp()
    const ada = await hub.tokenOf('ada')
    await hub.send('POST', '/api/admin/users', { name: 'bob', password: PASSWORD }, ada)
    await hub.send('PATCH', '/api/admin/users/bob', { password: NEW }, ada)
    const { token, user } = await (await login(hub, 'bob', NEW)).json()
    expect(user.mustChangePassword).toBe(true)
    expect(await code(await hub.get('/api/keys', token))).toEqual([403, 'password_change_required'])
    expect((await hub.get('/api/auth/me', token)).status).toBe(200)
    const body = { currentPassword: NEW, newPassword: `${NEW} and more` }
    const changed = await (await hub.send('POST', '/api/auth/password', body, token)).json()
    expect((await hub.get('/api/keys', changed.token)).status).toBe(200)
    await hub.registry.audit.flush()
    const { items } = await hub.registry.audit.list(HUB, { limit: 100, offset: 0 })
    expect(JSON.stringify(items)).not.toContain('argon2')
  })

  test.each([
    [{ password: PASSWORD }, '#/username', 'required'],
    [{ username: 'a', name: 'b', password: PASSWORD }, '#/username', 'ambiguous'],
    [{ username: 'x'.repeat(300), password: PASSWORD }, '#/username', 'name_invalid'],
    [{ username: 'bob ', password: PASSWORD }, '#/username', 'name_invalid'],
    [{ username: { $ne: 1 }, password: PASSWORD }, '#/username', 'type'],
    [{ username: 'bob', password: PASSWORD, role: 'root' }, '#/role', 'enum'],
    [{ username: 'bob', password: PASSWORD, rol: 'user' }, '#/rol', 'unknown_field'],
    [{ username: 'bob', password: 'bob-bob-bob-bob' }, '#/password', 'password_weak'],
  ])('a new user %j is refused at %s as %s', async (body, pointer, field) => {
    await using hub = await startHttp()
    const response = await hub.send('POST', '/api/admin/users', body, await hub.tokenOf('ada'))
    expect([response.status, (await response.json()).errors]).toMatchObject([400, [{ pointer, code: field }]])
  })
})

describe('keys', () => {
  test('a key shows its secret once and opens what its scopes say until it is deleted', async () => {
    await using hub = await startHttp()
    const ada = await hub.tokenOf('ada')
    const made = await hub.send('POST', '/api/keys', { label: 'laptop', scopes: ['api'] }, ada)
    const { secret, id } = await made.json()
    expect(made.status).toBe(201)
    expect((await hub.get('/api/auth/me', secret)).status).toBe(200)
    expect(await (await hub.get('/api/keys', ada)).text()).not.toContain(secret)
    expect((await hub.get(`/api/keys/${id}`, ada, { method: 'DELETE' })).status).toBe(204)
    expect(await code(await hub.get('/api/auth/me', secret))).toEqual([401, 'token_revoked'])
  })

  test.each([
    [{}, '#/label', 'required'],
    [{ label: '' }, '#/label', 'length'],
    [{ label: 'a', expiresAt: 'tomorrow' }, '#/expiresAt', 'timestamp'],
    [{ label: 'a', expiresAt: '2020-01-01T00:00:00Z' }, '#/expiresAt', 'range'],
    [{ label: 'a', scopes: [] }, '#/scopes', 'length'],
    [{ label: 'a', scopes: ['root'] }, '#/scopes/0', 'enum'],
    [{ label: 'a', scopes: [{ group: 'nobodys' }] }, '#/scopes/0/group', 'member_not_found'],
  ])('a new key %j is refused at %s as %s', async (body, pointer, field) => {
    await using hub = await startHttp()
    const response = await hub.send('POST', '/api/keys', body, await hub.tokenOf('ada'))
    expect([response.status, (await response.json()).errors]).toMatchObject([400, [{ pointer, code: field }]])
  })
})
