/** Headers of a user's credential: they go to the origin of the server alone, and a refusal asks for others once. */
import { expect, test } from 'bun:test'
import { decodeJwt } from 'jose'
import { CredentialFetch } from '../../../../core/connections/worker/credential-fetch.ts'
import type { GuardedFetch, GuardedRequest, GuardedResponse } from '../../../../core/contract/fetch.ts'
import { newProofKey } from '../../../../plugins/oauth-client/tokens/proof-key.ts'

const REQUEST: GuardedRequest = {
  ...{ method: 'POST', headers: { accept: 'application/json' } },
  ...{ headTimeoutMs: 1_000, idleTimeoutMs: 1_000, maxBytes: 1_000 },
}
const carried = (version: number) => ({
  ...{ headers: { authorization: `Bearer token-${version}` }, version },
  secrets: [`token-${version}`],
})

/** A fetch that answers with the given statuses in turn, then with 200, and notes what was sent. */
function noting(...statuses: number[]) {
  const sent: [url: string, authorization: string | undefined][] = []
  const fetch = (async (url: string, { headers }: GuardedRequest) => {
    sent.push([url, headers.authorization])
    const head: Pick<GuardedResponse, 'status' | 'headers'> = { status: statuses.shift() ?? 200, headers: {} }
    return { ...head, cancel() {} } as GuardedResponse
  }) as GuardedFetch
  return { fetch, sent }
}

test('go to the origin of the server, and to no other', async () => {
  const { fetch, sent } = noting()
  const asked = new CredentialFetch('https://mcp.example/mcp', carried(1), { refused() {}, secrets() {} }).around(fetch)
  for (const url of [
    'https://mcp.example/other',
    'https://mcp.example:444/mcp',
    'http://mcp.example/mcp',
    'https://evil.example/mcp',
  ])
    await asked(url, REQUEST)
  expect(sent.map(([, authorization]) => authorization)).toEqual(['Bearer token-1', undefined, undefined, undefined])
})

test('after a refusal the request is sent once more with other ones, however many were refused', async () => {
  const { fetch, sent } = noting(401, 401)
  let questions = 0
  const credential = new CredentialFetch('https://mcp.example/mcp', carried(1), {
    secrets() {},
    refused() {
      questions += 1
      queueMicrotask(() => credential.take({ answers: true, carried: carried(2) }))
    },
  })
  const asked = credential.around(fetch)
  const answers = await Promise.all([1, 2].map(() => asked('https://mcp.example/mcp', REQUEST)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(questions).toBe(1)
  expect(sent.map(([, authorization]) => authorization).sort()).toEqual(
    [1, 1, 2, 2].map(version => `Bearer token-${version}`),
  )
})

test.each([
  ['ten minutes ahead', 600, 2, 200],
  ['ten minutes behind', -600, 2, 200],
  ['two days ahead', 172_800, 1, 401],
  ['the same, so that the proof is wrong for another reason', 0, 1, 401],
])('a proof that a server refuses is made again with its time; its clock is %s', async (_, ahead, sent, status) => {
  const proofs: string[] = []
  const serverSeconds = () => Math.floor(Date.now() / 1_000) + ahead
  const fetch = (async (_url: string, { headers: { dpop = '' } }: GuardedRequest) => {
    proofs.push(dpop)
    const { iat = 0 } = decodeJwt(dpop)
    const isFresh = ahead !== 0 && Math.abs(iat - serverSeconds()) < 30
    const date = new Date(serverSeconds() * 1_000).toUTCString()
    const headers: Record<string, string> = { date }
    if (!isFresh) headers['www-authenticate'] = 'DPoP error="invalid_dpop_proof"'
    const head: Pick<GuardedResponse, 'status' | 'headers'> = { status: isFresh ? 200 : 401, headers }
    return { ...head, cancel() {} } as GuardedResponse
  }) as GuardedFetch
  const credential = new CredentialFetch(
    'https://mcp.example/mcp',
    { ...carried(1), proofKey: await newProofKey() },
    { secrets() {}, refused: () => queueMicrotask(() => credential.take({ answers: true })) },
  )
  const asked = credential.around(fetch)
  expect((await asked('https://mcp.example/mcp', REQUEST)).status).toBe(status)
  expect(proofs).toHaveLength(sent)
  // The next request has the time at once.
  if (status === 200) await asked('https://mcp.example/mcp', REQUEST)
  expect(new Set(proofs).size).toBe(proofs.length)
  expect(proofs).toHaveLength(status === 200 ? 3 : sent)
})
