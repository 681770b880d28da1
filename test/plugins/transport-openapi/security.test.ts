import { describe, expect, test } from 'bun:test'
import type { JsonObject } from 'patchbay/contract'
import { type Api, failure, inline, openLink, operation, startApi } from './harness.ts'

const schemes: JsonObject = {
  inHeader: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
  inQuery: { type: 'apiKey', in: 'query', name: 'api key' },
  inCookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
  basic: { type: 'http', scheme: 'Basic' },
  bearer: { type: 'http', scheme: 'bearer' },
  digest: { type: 'http', scheme: 'digest' },
  oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/token', scopes: { read: '', write: '' } } } },
  openid: { type: 'openIdConnect', openIdConnectUrl: '/.well-known/openid-configuration' },
}

function config(api: Api, security: JsonObject[] | undefined, auth: JsonObject, headers?: JsonObject): JsonObject {
  const parameters = [
    { name: 'q', in: 'query', schema: {} },
    { name: 'api key', in: 'query', schema: {} },
    { name: 'X-Api-Key', in: 'header', schema: {} },
  ]
  const schema = {
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    components: { securitySchemes: schemes },
    paths: { '/x': { get: { operationId: 'op', parameters, responses: {}, ...(security ? { security } : {}) } } },
  }
  return { openapi: { schema, baseUrl: api.url, auth }, ...(headers ? { headers } : {}) }
}

const only = (name: string, scopes: string[] = []): JsonObject[] => [{ [name]: scopes }]

describe('security', () => {
  test.each<[JsonObject[], JsonObject, Record<string, string>, string]>([
    [only('inHeader'), { inHeader: { value: 'k1' } }, { 'x-api-key': 'k1' }, '/x'],
    [only('inHeader'), { inHeader: 'k1' }, { 'x-api-key': 'k1' }, '/x'],
    [only('inQuery'), { inQuery: { value: 'k&1' } }, {}, '/x?api%20key=k%261'],
    [only('inCookie'), { inCookie: { value: 'a;b' } }, { cookie: 'sid=a%3Bb' }, '/x'],
    [
      only('basic'),
      { basic: { username: 'ü', password: 'p:w' } },
      { authorization: `Basic ${Buffer.from('ü:p:w').toString('base64')}` },
      '/x',
    ],
    [only('bearer'), { bearer: { token: 't' } }, { authorization: 'Bearer t' }, '/x'],
    [only('oauth'), { oauth: { token: 't' } }, { authorization: 'Bearer t' }, '/x'],
    [only('openid'), { openid: { token: 't' } }, { authorization: 'Bearer t' }, '/x'],
    [
      [{ inHeader: [], bearer: [] }],
      { inHeader: 'k', bearer: 't' },
      { 'x-api-key': 'k', authorization: 'Bearer t' },
      '/x',
    ],
    [[{ inHeader: [], bearer: [] }, { inQuery: [] }], { inHeader: 'k', inQuery: 'q' }, {}, '/x?api%20key=q'],
    [[{ digest: [] }, { bearer: [] }], { digest: { token: 'd' }, bearer: 't' }, { authorization: 'Bearer t' }, '/x'],
    [[{}, { bearer: [] }], { bearer: 't' }, { authorization: 'Bearer t' }, '/x'],
  ])('%j with %j sends what the first complete alternative wants', async (security, auth, headers, target) => {
    await using api = await startApi()
    await using open = await openLink(config(api, security, auth))
    await open.call('op')
    expect(api.last().headers).toMatchObject(headers)
    expect(api.last().target).toBe(target)
    const names = ['x-api-key', 'authorization', 'cookie']
    expect(names.filter(name => api.last().headers[name] !== undefined).sort()).toEqual(Object.keys(headers).sort())
  })

  test('"security": [] sends nothing, and neither does an operation that wants nothing', async () => {
    await using api = await startApi()
    for (const security of [[], undefined]) {
      await using open = await openLink(config(api, security, { bearer: 't' }))
      await open.call('op')
      expect(api.last().headers.authorization).toBeUndefined()
    }
  })

  test('a header set by hand wins, whatever the case of its letters', async () => {
    await using api = await startApi()
    await using open = await openLink(
      config(
        api,
        [{ inHeader: [], bearer: [] }],
        { bearer: 't' },
        { AUTHORIZATION: 'Bearer mine', 'x-API-key': 'by hand' },
      ),
    )
    await open.call('op')
    expect(api.last().headers).toMatchObject({ authorization: 'Bearer mine', 'x-api-key': 'by hand' })
    expect(open.warnings.filter(warning => warning.includes('complete value'))).toEqual([])
  })

  test('a credential is no argument: the tool does not show it, and a caller cannot give it', async () => {
    await using api = await startApi()
    await using open = await openLink(config(api, [{ inHeader: [], inQuery: [] }], { inHeader: 'k', inQuery: 'q' }))
    const { properties } = open.tool('op').inputSchema as { properties: JsonObject }
    expect(Object.keys(properties)).toEqual(['q'])
    for (const name of ['api key', 'X-Api-Key']) {
      await open.call('op', { [name]: 'mine' })
      expect(JSON.stringify([api.last().target, api.last().headers])).not.toContain('mine')
    }
  })

  test('a header set by hand is no argument either, since what a caller says would be lost', async () => {
    await using api = await startApi()
    const schema = operation('/x', [
      { name: 'X-Region', in: 'header', required: true, schema: {} },
      { name: 'X-Other', in: 'header', schema: {} },
    ])
    await using open = await openLink(inline(schema, api.url, {}, { 'x-region': 'north' }))
    const { properties, required } = open.tool('op').inputSchema as { properties: JsonObject; required?: string[] }
    expect([Object.keys(properties), required]).toEqual([['X-Other'], undefined])
    await open.call('op', { 'X-Other': 'o' })
    expect(api.last().headers).toMatchObject({ 'x-region': 'north', 'x-other': 'o' })
  })

  test('one credential for all calls works where the document defines no scheme', async () => {
    await using api = await startApi()
    const auth = { type: 'apiKey', in: 'query', name: 'token', value: 'k' }
    await using open = await openLink(config(api, undefined, auth))
    await open.call('op', { q: 1 })
    expect(api.last().target).toBe('/x?q=1&token=k')
  })

  test('missing, useless or unsendable values are warnings', async () => {
    await using api = await startApi()
    await using open = await openLink(config(api, [{ inHeader: [] }, { digest: [] }], { nobody: 'k' }))
    expect(open.warnings).toEqual([
      '1 operation wants the security scheme "inHeader": "openapi.auth" has no complete value for it',
      '1 operation wants the security scheme "digest", which is not defined or cannot be sent',
      '"openapi.auth" has "nobody", which no operation uses',
    ])
    await open.call('op')
    expect(api.last().headers.authorization).toBeUndefined()
  })
})

describe('OAuth 2 client credentials', () => {
  /** An API with its authorization server; `life` is the seconds of a token. */
  async function authorized(life: number | undefined, inForm = false): Promise<Api & { revoked: string }> {
    let issued = 0
    const state = { revoked: 'none' }
    const api = await startApi(({ target, headers, body }) => {
      if (target === '/.well-known/openid-configuration')
        return Response.json({ token_endpoint: `http://${headers.host}/token` })
      if (target !== '/token')
        return Response.json(
          { authorization: headers.authorization },
          { status: target === '/x?q=401' || headers.authorization?.includes(`${state.revoked}-`) ? 401 : 200 },
        )
      const form = new URLSearchParams(body.toString())
      const byHeader = headers.authorization === `Basic ${Buffer.from('the+id:s%3Acret').toString('base64')}`
      const byForm = form.get('client_id') === 'the id' && form.get('client_secret') === 's:cret'
      if (form.get('grant_type') !== 'client_credentials' || !(inForm ? byForm : byHeader)) {
        return Response.json({ error: 'invalid_client' }, { status: 401 })
      }
      issued += 1
      return Response.json({
        access_token: `t${issued}-${form.get('scope')?.replace(' ', '+')}`,
        token_type: 'bearer',
        ...(life === undefined ? {} : { expires_in: life }),
      })
    })
    return Object.assign(state, api)
  }
  const client = { clientId: 'the id', clientSecret: 's:cret' }
  const sent = (api: Api): (string | undefined)[] =>
    api.seen.filter(({ target }) => target.startsWith('/x')).map(({ headers }) => headers.authorization)
  const asked = (api: Api): number => api.seen.filter(({ target }) => target === '/token').length

  test('a token is fetched once for many calls at the same time, with the scopes of the operation', async () => {
    await using api = await authorized(3600)
    await using open = await openLink(config(api, only('oauth', ['read', 'write']), { oauth: client }))
    await Promise.all(Array.from({ length: 10 }, () => open.call('op')))
    await open.call('op')
    expect(asked(api)).toBe(1)
    expect(new Set(sent(api))).toEqual(new Set(['Bearer t1-read+write']))
  })

  test('an expired token is fetched again before the call', async () => {
    await using short = await authorized(0)
    await using first = await openLink(config(short, only('oauth'), { oauth: { ...client, scopes: ['own'] } }))
    await first.call('op')
    await first.call('op')
    expect(sent(short)).toEqual(['Bearer t1-own', 'Bearer t2-own'])
  })

  test('a kept token that the API refuses is fetched again once, by all calls together, and each call is sent once more', async () => {
    await using api = await authorized(3600)
    await using open = await openLink(config(api, only('oauth'), { oauth: client }))
    await open.call('op')
    api.revoked = 't1'
    const results = await Promise.all(Array.from({ length: 8 }, () => open.call('op')))
    expect(results.map(({ isError }) => isError)).toEqual(Array.from({ length: 8 }, () => false))
    expect(asked(api)).toBe(2)
    expect(sent(api).filter(token => token === 'Bearer t2-undefined')).toHaveLength(8)
  })

  test('a call that the API refuses with a new token is not sent again, and neither is any other failure', async () => {
    await using api = await authorized(3600)
    await using open = await openLink(config(api, only('oauth'), { oauth: client }))
    expect((await open.call('op', { q: 401 })).isError).toBe(true)
    expect(sent(api)).toEqual(['Bearer t1-undefined'])
    expect((await open.call('op', { q: 401 })).isError).toBe(true)
    expect(sent(api)).toHaveLength(3)
    await using keyed = await openLink(config(api, only('bearer'), { bearer: 'mine' }))
    expect((await keyed.call('op', { q: 401 })).isError).toBe(true)
    expect(sent(api)).toHaveLength(4)
  })

  test('credentials in the form are tried where the header is refused', async () => {
    await using api = await authorized(3600, true)
    await using open = await openLink(config(api, only('oauth'), { oauth: client }))
    await open.call('op')
    expect(sent(api)).toEqual(['Bearer t1-undefined'])
  })

  test('openIdConnect finds the token endpoint by discovery', async () => {
    await using api = await authorized(3600)
    await using open = await openLink(config(api, only('openid', ['a']), { openid: client }))
    await open.call('op')
    expect(sent(api)).toEqual(['Bearer t1-a'])
  })

  test('a refusal is authorization_required, without the secret, and the API is not asked', async () => {
    await using api = await authorized(3600)
    await using open = await openLink(config(api, only('oauth'), { oauth: { clientId: 'x', clientSecret: 'canary' } }))
    const error = await failure(open.call('op'))
    expect(error.code).toBe('authorization_required')
    expect(error.message).not.toContain('canary')
    expect(sent(api)).toEqual([])
  })
})
