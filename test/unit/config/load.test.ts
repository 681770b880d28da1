import { describe, expect, test } from 'bun:test'
import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment } from '../../../core/config/env.ts'
import { type LoadedConfig, loadConfig } from '../../../core/config/load.ts'
import { StartError } from '../../../core/config/start-error.ts'
import { tempFolder } from './temp.ts'

async function load(env: Environment, cwd: string): Promise<LoadedConfig> {
  const loaded = await loadConfig(env, cwd, { isTerminal: false })
  loaded.settings.dispose()
  return loaded
}

async function refusal(env: Environment, cwd: string): Promise<StartError> {
  try {
    await load(env, cwd)
  } catch (error) {
    if (error instanceof StartError) return error
    throw error
  }
  throw new Error('the configuration was accepted')
}

const mode = async (path: string) => (await stat(path)).mode & 0o777

describe('loadConfig()', () => {
  test('needs no setting: makes the data folder and a sample in it', async () => {
    await using temp = await tempFolder()
    const { config, sources, settings, warnings } = await load({}, temp.path)
    expect(config).toMatchObject({
      port: 3000,
      host: '127.0.0.1',
      basePath: '',
      dataDir: join(temp.path, '.patchbay'),
      settingsFile: join(temp.path, '.patchbay', 'mcp_settings.json'),
      allowedHosts: ['localhost', '127.0.0.1', '[::1]'],
      stdioPolicy: 'sandboxed',
      logFormat: 'json',
      logMaxSizeBytes: 100_000_000,
    })
    expect(await mode(config.dataDir)).toBe(0o711)
    expect(await mode(config.settingsFile)).toBe(0o600)
    expect(new Set(sources.values())).toEqual(new Set(['default']))
    expect(warnings).toEqual([])
    expect(settings.state.file.servers[0]?.body).toMatchObject({ command: process.execPath })
    expect(settings.state.file.groups[0]?.body).toEqual({ name: 'sample', members: ['sample'] })
  })

  test('takes the settings file of the folder it starts in, and never copies over one in the data folder', async () => {
    await using temp = await tempFolder()
    await load({}, temp.path)
    const copy = join(temp.path, '.patchbay', 'mcp_settings.json')
    await writeFile(copy, '{"groups": []}')
    expect((await load({}, temp.path)).settings.path).toBe(copy)
    expect(await readFile(copy, 'utf8')).toBe('{"groups": []}')
    await writeFile(join(temp.path, 'mcp_settings.json'), '{}')
    expect((await load({}, temp.path)).settings.path).toBe(join(temp.path, 'mcp_settings.json'))
  })

  test('lays the environment over the file over what is stored over the default, and knows each source', async () => {
    await using temp = await tempFolder()
    await writeFile(
      join(temp.path, 'mcp_settings.json'),
      JSON.stringify({
        systemConfig: {
          logLevel: 'warn',
          workers: 3,
          trustedProxies: ['10.0.0.1'],
          requestLogs: true,
          logFile: 'x.log',
        },
      }),
    )
    const loaded = await load({ LOG_LEVEL: 'trace', HOST: '10.1.1.1' }, temp.path)
    expect(loaded.config).toMatchObject({
      logLevel: 'trace',
      workers: 3,
      trustedProxies: ['10.0.0.1/32'],
      requestLogs: true,
      logFile: join(temp.path, 'x.log'),
      allowedHosts: ['localhost', '127.0.0.1', '[::1]', '10.1.1.1'],
    })
    const stored = loaded.withStored({ logLevel: 'error', workers: 1, stdioPolicy: 'off', port: 'x' })
    expect(stored.config).toMatchObject({ logLevel: 'trace', workers: 3, stdioPolicy: 'off', port: 3000 })
    expect((['logLevel', 'workers', 'stdioPolicy', 'port'] as const).map(key => stored.sources.get(key))).toEqual([
      'env',
      'file',
      'store',
      'default',
    ])
    expect(stored.warnings.join()).toContain('"port"')
  })

  test('continues with warnings when systemConfig has unusable values', async () => {
    await using temp = await tempFolder()
    await writeFile(
      join(temp.path, 'mcp_settings.json'),
      JSON.stringify({ systemConfig: { logLevl: 'debug', port: 70_000, jwtSecret: 'canary-9012', routing: {} } }),
    )
    const { config, warnings } = await load({}, temp.path)
    expect(config.port).toBe(3000)
    expect(config.jwtSecret).toBeUndefined()
    const told = warnings.join('\n')
    for (const word of ['"logLevel" meant', '"routing" is not known', '0 to 65535', 'JWT_SECRET'])
      expect(told).toContain(word)
    expect(told).not.toContain('canary-9012')
  })

  test('serves the public host, and what ALLOWED_HOSTS adds', async () => {
    await using temp = await tempFolder()
    const env = { PUBLIC_URL: 'https://Hub.example/x', ALLOWED_HOSTS: 'other.example', HOST: '0.0.0.0' }
    const { config } = await load(env, temp.path)
    expect(config.allowedHosts).toEqual(['localhost', '127.0.0.1', '[::1]', 'hub.example', 'other.example'])
    expect(config.allowedOrigins).toEqual(['https://hub.example'])
  })

  test('refuses a SETTINGS_FILE that is not there, before anything is made', async () => {
    await using temp = await tempFolder()
    const error = await refusal({ SETTINGS_FILE: 'nowhere.json' }, temp.path)
    expect([error.code, error.exitCode]).toEqual(['env_invalid', 2])
    expect(error.message).toContain('SETTINGS_FILE')
    await expect(stat(join(temp.path, '.patchbay'))).rejects.toThrow('ENOENT')
  })

  test('refuses a log file that is a folder, a part of the system, or the settings file', async () => {
    await using temp = await tempFolder()
    await writeFile(join(temp.path, 'mcp_settings.json'), '{}')
    await symlink('/etc/passwd', join(temp.path, 'link'))
    for (const path of [
      temp.path,
      'new/',
      '/etc/passwd',
      '/dev/null',
      './mcp_settings.json',
      'link',
      '.patchbay/patchbay.db',
    ]) {
      const error = await refusal({ LOG_FILE: path }, temp.path)
      expect([path, error.code, error.exitCode]).toEqual([path, 'log_file_forbidden', 2])
    }
    expect((await load({ LOG_FILE: 'logs/hub.log' }, temp.path)).config.logFile).toBe(join(temp.path, 'logs/hub.log'))
  })

  test('refuses a data folder that is a file, and one that everybody shares', async () => {
    await using temp = await tempFolder()
    await writeFile(join(temp.path, 'file'), '')
    const error = await refusal({ DATA_DIR: 'file' }, temp.path)
    expect([error.code, error.exitCode]).toEqual(['data_dir_unwritable', 1])
    await mkdir(join(temp.path, 'shared'))
    await chmod(join(temp.path, 'shared'), 0o1777)
    expect((await refusal({ DATA_DIR: 'shared' }, temp.path)).code).toBe('env_invalid')
    expect(await mode(join(temp.path, 'shared'))).toBe(0o777)
  })

  test('closes the files of a data folder to others, once a hub has used it', async () => {
    await using temp = await tempFolder()
    await writeFile(join(temp.path, 'foreign'), '', { mode: 0o644 })
    await load({ DATA_DIR: temp.path }, temp.path)
    expect(await mode(join(temp.path, 'foreign'))).toBe(0o644)
    await writeFile(join(temp.path, 'hub.lock'), '', { mode: 0o644 })
    await load({ DATA_DIR: temp.path }, temp.path)
    expect([await mode(join(temp.path, 'foreign')), await mode(join(temp.path, 'hub.lock'))]).toEqual([0o600, 0o600])
  })
})
