/** Rules that hold for a plugin in the main thread as in a thread of its own: its end, and where its settings come from. */
import { expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { HubServices } from '../../../core/plugin-host/services/services.ts'
import { pluginHost } from '../../support/plugin-host.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const fixtures = join(import.meta.dir, 'fixtures')

/** Its cleanup and its job take their time, so that an end that does not wait for them is over before. */
const ENDING = `
import { definePlugin } from 'patchbay/contract'
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
export default definePlugin({
  name: 'ending',
  contract: 1,
  setup({ jobs, log, signal }) {
    signal.addEventListener('abort', () => log.info('aborted'))
    void jobs.once('long', async aborted => {
      log.info('job begun')
      await new Promise(resolve => aborted.addEventListener('abort', resolve))
      await sleep(300)
      log.info('job ended')
    })
    return async () => {
      await sleep(50)
      log.info(signal.aborted ? 'aborted too soon' : 'cleaned up')
    }
  },
})
`

test.each([true, false])('an end: what the setup returned, then the signal, then jobs; isolated: %p', async isolate => {
  const folder = await makeTemp('ending')
  await using _ = { [Symbol.asyncDispose]: () => removeTemp(folder) }
  await writeFile(join(folder, 'ending.ts'), ENDING, { mode: 0o600 })
  const said: string[] = []
  const note = (text: string) => void said.push(text)
  const log = () => ({ debug() {}, info: note, warn: note, error: note })
  const host = pluginHost({ entries: [{ use: './ending.ts', isolate }], folder, log })
  await host.start()
  await host.stop()
  expect(said).toEqual(['job begun', 'cleaned up', 'aborted', 'job ended'])
})

test.each([true, false])(
  'settings win over environment variables, and these over defaults; isolated: %p',
  async isolate => {
    const greeting = async (config: object | undefined, variables: Readonly<Record<string, string>>) => {
      const services = { variable: (name: string) => variables[name] } as Partial<HubServices> as HubServices
      const entry = { use: './with-variable.ts', isolate, ...(config ? { config } : {}) }
      const host = pluginHost({ entries: [entry], folder: fixtures, services })
      await host.start()
      try {
        const route = host.routes.free('fixture-configured', 'config')
        return await (await route?.fetch(new Request('http://hub/'), undefined))?.json()
      } finally {
        await host.stop()
      }
    }
    const variables = { FIXTURE_CONFIGURED_GREETING: 'of the variable', GREETING: 'of another one' }
    expect(await greeting({ greeting: 'of the settings', names: ['a'] }, variables)).toEqual({
      ...{ greeting: 'of the settings', names: ['a'] },
    })
    expect(await greeting({ names: ['a'] }, variables)).toEqual({ greeting: 'of the variable', names: ['a'] })
    expect(await greeting(undefined, variables)).toEqual({ greeting: 'of the variable', names: [] })
    expect(await greeting(undefined, {})).toEqual({ greeting: 'hello', names: [] })
  },
)
