/** Headers of a user's credential: they go to the origin of the server alone, and a refusal asks for others once. */
import { expect, test } from 'bun:test'
import { CredentialFetch } from '../../../../core/connections/worker/credential-fetch.ts'
import type { GuardedFetch, GuardedRequest, GuardedResponse } from '../../../../core/contract/fetch.ts'

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
