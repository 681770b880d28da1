import { expect, test } from 'bun:test'
import { startHub } from '../../support/hub.ts'
import { patchbay } from './running-hub.ts'

test('commands say that the hub has no administrator yet, and what to do', async () => {
  const hub = await startHub()
  try {
    for (const env of [{ DATA_DIR: hub.dataDir }, { PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: 'pb_none' }]) {
      for (const argv of [
        ['servers', 'list'],
        ['call', 'x', 'y'],
        ['import', '--scan'],
      ]) {
        const { code, stderr } = await patchbay(argv, { cwd: hub.folder, env })
        expect([argv, code]).toEqual([argv, 1])
        expect(stderr).toContain('setup_required: ')
        expect(stderr).toContain(hub.url)
        expect(stderr).toContain('patchbay setup-token')
        expect(stderr).not.toContain('unauthenticated')
      }
    }
    await hub.setup()
    const { stderr } = await patchbay(['servers', 'list'], {
      cwd: hub.folder,
      env: { PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: 'pb_none' },
    })
    expect(stderr).toContain('token_invalid')
    expect(stderr).not.toContain('setup_required')
  } finally {
    await hub.stop()
  }
}, 60_000)
