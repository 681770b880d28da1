/** Metadata and answers that are long or slow, and what is kept and shown of them. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { createGuardedFetch } from '../../../core/outbound/create.ts'
import { timely } from '../../../plugins/oauth-client/discovery/reach.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { until } from '../../support/wait.ts'
import { ScriptedIssuer } from './scripted-issuer.ts'

describe('long metadata', () => {
  let server: ScriptedIssuer
  let issuer: ScriptedIssuer
  let hub: Hub
  let root: Client
  let ada: Client
  let bob: Client
  let id: string

  beforeAll(async () => {
    server = new ScriptedIssuer()
    issuer = new ScriptedIssuer()
    hub = await startHub({ env: LOOPBACK })
    root = await hub.setup()
    ada = await hub.user('ada')
    bob = await hub.user('bob')
    const place = { name: 'notes', url: `${server.url}/mcp`, oauth: {}, visibility: 'public' }
    id = (await ada.ok('POST', '/api/servers', place)).id
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await Promise.all([server?.stop(), issuer?.stop()])
  }, 120_000)

  const describes = (members: object) => {
    server.raw = () => Response.json({ resource: `${server.url}/mcp`, authorization_servers: [issuer.url], ...members })
  }
  const begin = (client: Client) => client.request('POST', '/api/servers/ada~notes/connect', { scopes: ['wanted'] })

  test('with thousands of scopes asks for a hundred, with those that the user wants', async () => {
    const many = Array.from({ length: 5_000 }, (_, at) => `scope-${at}`)
    describes({ scopes_supported: ['not a scope', ...many] })
    const { scopes, authorizeUrl } = (await begin(ada)).json
    expect([scopes.length, scopes.includes('wanted'), authorizeUrl.length < 8_192]).toEqual([100, true, true])
  })

  test('with a scope of kilobytes in the answer keeps none of it', async () => {
    describes({})
    issuer.token = () =>
      Response.json({ access_token: 'scripted', token_type: 'Bearer', scope: `read ${'x'.repeat(100_000)}` })
    const back = await fetch((await begin(ada)).json.authorizeUrl, { redirect: 'manual' })
    const connection = await ada.ok('POST', '/api/connections/finish', { url: back.headers.get('location') })
    expect(connection.scopes).toEqual(['read'])
  })

  test('a token of over 16 KiB is not kept', async () => {
    describes({})
    issuer.token = () => Response.json({ access_token: 'x'.repeat(17_000), token_type: 'Bearer' })
    const back = await fetch((await begin(bob)).json.authorizeUrl, { redirect: 'manual' })
    const finished = await bob.request('POST', '/api/connections/finish', { url: back.headers.get('location') })
    expect([finished.status, finished.json.code]).toEqual([400, 'token_too_large'])
    expect((await bob.ok('GET', '/api/connections')).items).toEqual([])
    issuer.token = () => Response.json({ access_token: 'scripted', token_type: 'Bearer' })
  })

  test.each([
    ['issuer', () => ({ authorization_servers: [`${issuer.url}/${'x'.repeat(100_000)}`] }), 'issuer_unusable'],
    ['resource', () => ({ resource: `${server.url}/mcp#${'x'.repeat(100_000)}` }), 'resource_mismatch'],
  ])('with a long %s is refused with a short message', async (_, members, code) => {
    describes(members())
    const { json } = await begin(ada)
    expect([json.code, String(json.detail).length < 600]).toEqual([code, true])
  })

  test('whoever is led to the page learns the host at which the sign-in is used', async () => {
    const place = await bob.ok('GET', `/api/connections/servers/${id}`)
    expect(place).toMatchObject({ own: false, host: new URL(server.url).host })
    await ada.ok('PATCH', '/api/servers/notes', { credentials: 'owner' })
    expect((await bob.ok('GET', `/api/connections/servers/${id}`)).host).toBeUndefined()
    expect((await ada.ok('GET', `/api/connections/servers/${id}`)).host).toBe(new URL(server.url).host)
    await ada.ok('PATCH', '/api/servers/notes', { credentials: 'caller' })
  })

  test('a sign-in at a server that is hidden meanwhile is ended, and one under way is not finished', async () => {
    describes({})
    const answer = async () => {
      const back = await fetch((await begin(bob)).json.authorizeUrl, { redirect: 'manual' })
      return { url: back.headers.get('location') }
    }
    await bob.ok('POST', '/api/connections/finish', await answer())
    const late = await answer()
    await ada.ok('PATCH', '/api/servers/notes', { visibility: 'private', name: 'secret-plan' })
    expect((await bob.request('POST', '/api/connections/finish', late)).json.code).toBe('flow_unknown')
    const held = async (): Promise<readonly unknown[]> => (await bob.ok('GET', '/api/connections')).items
    await until(async () => (await held()).length === 0, { what: 'the sign-in to be ended' })
  })

  test('no secret of a configuration is in an answer, in the export or in the audit', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const line = pem.split('\n')[1] ?? ''
    const identity = { issuer: 'https://idp.example', clientId: 'hub', clientSecret: 'secret-of-the-identity' }
    const oauth = { clientId: 'mine', clientSecret: 'secret-of-mine-1', key: pem, grant: 'id_jag', identity }
    const made = await ada.request('POST', '/api/servers', { name: 'kept', url: `${server.url}/mcp`, oauth })
    expect([made.status, made.json.code]).toEqual([201, undefined])
    await ada.ok('PATCH', '/api/servers/kept', { oauth: { ...oauth, clientSecret: 'secret-of-mine-2' } })
    const paths = ['/api/servers', '/api/servers/kept', '/api/audit', '/api/connections', '/api/logs']
    const answers = await Promise.all(paths.map(async path => (await ada.request('GET', path)).text))
    answers.push(
      made.text,
      (await ada.request('POST', '/api/export', {})).text,
      (await root.request('GET', '/api/admin/audit')).text,
    )
    expect(answers[0]).toContain('kept')
    for (const secret of [line, 'secret-of-the-identity', 'secret-of-mine'])
      expect([secret, [...answers, hub.log()].filter(text => text.includes(secret))]).toEqual([secret, []])
  })
})

test('an answer that comes byte by byte ends in time', async () => {
  const drip = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch: () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            await Bun.sleep(20)
            controller.enqueue(' ')
          },
        }),
      ),
  })
  const fetch = createGuardedFetch({ rights: { admin: true, networks: [] }, instanceId: 'test' })
  const response = await timely(fetch, 300)(drip.url.href, { method: 'GET', headers: {} })
  await expect(response.text()).rejects.toMatchObject({ code: 'upstream_timeout' })
  await drip.stop(true)
})
