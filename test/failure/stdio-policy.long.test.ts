import { expect, test } from 'bun:test'
import { type Client, startHub } from '../support/hub.ts'
import { removeTemp } from '../support/temp.ts'

const BODY = { name: 'cat', command: 'cat' }

async function create(client: Client): Promise<readonly [number, string | undefined]> {
  const answer = await client.request('POST', '/api/servers', BODY)
  return [answer.status, answer.json.code]
}

test('a policy that an administrator set by the API holds from the next start, at saving too', async () => {
  const first = await startHub()
  const admin = await first.setup()
  await admin.ok('PATCH', '/api/admin/settings', { stdioPolicy: 'off' })
  expect(await create(admin)).toEqual([201, undefined])
  await admin.ok('DELETE', '/api/servers/cat')
  await first.stop({ keep: true })
  const second = await startHub({ folder: first.folder })
  expect(await create(await second.signIn('admin'))).toEqual([403, 'stdio_not_permitted'])
  await second.stop()
  await removeTemp(first.folder)
}, 120_000)
