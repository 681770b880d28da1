import { afterAll, beforeAll, expect, test } from 'bun:test'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { type Hub, startHub } from '../support/hub.ts'

let hub: Hub

beforeAll(async () => {
  hub = await startHub()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

test.each([
  ['GET', '/.well-known/oauth-protected-resource', 404],
  ['GET', '/.well-known/oauth-protected-resource/mcp/any', 404],
  ['GET', '/.well-known/oauth-authorization-server', 404],
  ['GET', '/.well-known/oauth-authorization-server/mcp/any', 404],
  ['GET', '/.well-known/openid-configuration', 404],
  ['POST', '/register', 403],
  ['POST', '/token', 403],
  ['GET', '/authorize', 403],
])('%s %s says in OAuth’s error form that keys are wanted', async (method, path, status) => {
  const answer = await fetch(hub.url + path, { method, ...(method === 'POST' ? { body: '{}' } : {}) })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/json'])
  const body = (await answer.json()) as Record<string, string>
  expect(Object.keys(body)).toEqual(['error', 'error_description'])
  expect(body.error_description).toContain('This hub takes access keys')
})

test('a client that tries OAuth after a 401 tells its user that the key is not known', async () => {
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', hub.url), {
    requestInit: { headers: { authorization: 'Bearer pb_wrong' } },
    authProvider: {
      redirectUrl: 'http://127.0.0.1:1/callback',
      clientMetadata: { redirect_uris: ['http://127.0.0.1:1/callback'] },
      clientInformation: () => undefined,
      saveClientInformation: () => {},
      tokens: () => undefined,
      saveTokens: () => {},
      redirectToAuthorization: () => {
        throw new UnauthorizedError('The client was sent to a sign-in page that the hub does not have')
      },
      saveCodeVerifier: () => {},
      codeVerifier: () => '',
    },
  })
  const client = new McpClient({ name: 'oauth', version: '1' })
  await expect(client.connect(transport as Transport)).rejects.toThrow('the one sent is not known')
})
