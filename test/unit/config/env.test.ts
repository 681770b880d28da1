import { describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readClientEnvironment, readEnvironment } from '../../../core/config/env.ts'
import { StartError } from '../../../core/config/start-error.ts'
import { VARIABLES } from '../../../core/config/variables.ts'
import { addressList } from '../../../core/http/addresses.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

function failure(env: Record<string, string>): StartError {
  try {
    readEnvironment(env)
  } catch (error) {
    if (error instanceof StartError) return error
    throw error
  }
  throw new Error(`accepted: ${JSON.stringify(env)}`)
}

describe('readEnvironment()', () => {
  const refused: readonly [string, string, string][] = [
    ['PORT', '70000', '0 to 65535'],
    ['PORT', '-1', '0 to 65535'],
    ['PORT', '3000.5', '0 to 65535'],
    ['PORT', '0x10', '0 to 65535'],
    ['LOG_LEVEL', 'loud', 'error, warn, info, debug, trace'],
    ['LOG_FORMAT', 'xml', 'json, pretty'],
    ['LOG_MAX_SIZE', '10XB', '100MB'],
    ['LOG_MAX_SIZE', '0', '100MB'],
    ['LOG_MAX_SIZE', '1', '64000'],
    ['LOG_MAX_SIZE', '63KB', '64000'],
    ['LOG_MAX_FILES', '0', '1 to 10000'],
    ['LOG_COMPRESS', 'gzip', 'true, false, 1 or 0'],
    ['LOG_ROTATION', 'hourlyish', 'hourly, daily, weekly, none'],
    ['ENABLE_REQUEST_LOGS', 'maybe', 'true, false, 1 or 0'],
    ['SYSLOG_FACILITY', 'local9', 'local0'],
    ['TRUSTED_PROXIES', '*', 'CIDR'],
    ['TRUSTED_PROXIES', '0.0.0.0/0', 'never every address'],
    ['TRUSTED_PROXIES', '10.0.0.0/33', 'CIDR'],
    ['TRUSTED_PROXIES', '::ffff:0:0/96', 'never every address'],
    ['OUTBOUND_ALLOW', '::ffff:10.0.0.0/95', 'CIDR'],
    ['OUTBOUND_ALLOW', '10.0.0.0/8,intranet', 'CIDR'],
    ['OUTBOUND_ALLOW', '127.1', 'CIDR'],
    ['ADMIN_ADDRESSES', '10.0.0.0/8/8', 'CIDR'],
    ['STDIO_POLICY', 'everybody', 'sandboxed, admin, off'],
    ['WORKERS', '0', '1 to 64'],
    ['HOST', 'http://localhost', 'host name'],
    ['PUBLIC_URL', 'hub.example', 'https://hub.example'],
    ['PUBLIC_URL', 'ftp://hub.example', 'https://hub.example'],
    ['BASE_PATH', 'hub', '/hub'],
    ['BASE_PATH', '/a/../b', '/hub'],
    ['BASE_PATH', '//a', '/hub'],
    ['ALLOWED_HOSTS', 'https://hub.example', 'without scheme'],
    ['ALLOWED_ORIGINS', 'https://hub.example/path', 'origin'],
    ['SEARCH_ENGINE_INDEX', 'Logs!', 'lower-case'],
    ['HTTPS_PROXY', 'socks5://proxy.example:1080', 'http://host:port'],
    ['HTTP_PROXY', 'https://proxy.example', 'http://host:port'],
  ]
  test.each(refused)('refuses %s=%s with exit code 2, naming the variable and %s', (name, value, legal) => {
    const error = failure({ [name]: value })
    expect(error.code).toBe('env_invalid')
    expect(error.exitCode).toBe(2)
    expect(error.message).toContain(name)
    expect(error.message).toContain(legal)
  })

  const secrets: readonly [string, string][] = [
    ['DATABASE_URL', 'mysql://root:canary-5512@db/x'],
    ['ADMIN_PASSWORD', 'canary-5512'],
    ['METRICS_TOKEN', 'canary-5512 with spaces'],
    ['SEARCH_ENGINE_URL', 'ftp://me:canary-5512@search'],
    ['PUBLIC_URL', 'https://me:canary-5512@hub.example'],
    ['HTTPS_PROXY', 'ftp://me:canary-5512@proxy.example'],
  ]
  test.each(secrets)('does not repeat the value of %s in its message', (name, value) => {
    const error = failure({ [name]: value, ADMIN_USERNAME: 'ada' })
    expect(error.message).toContain(name)
    expect(error.message).not.toContain('canary-5512')
  })

  test('reports every wrong variable at once', () => {
    const { message } = failure({ PORT: 'x', LOG_LEVEL: 'loud', SYSLOG_ENABLED: 'true', ASSISTANT_ENABLED: '1' })
    for (const name of ['PORT', 'LOG_LEVEL', 'SYSLOG_HOST', 'ASSISTANT_API_KEY']) expect(message).toContain(name)
  })

  test('refuses a name without its password, and a password without its name', () => {
    expect(failure({ ADMIN_USERNAME: 'ada' }).message).toContain('ADMIN_PASSWORD')
    expect(failure({ ADMIN_PASSWORD: 'correct horse battery' }).message).toContain('ADMIN_USERNAME')
  })

  test('reads each secret from the file that NAME_FILE names, and nothing else from one', async () => {
    const folder = await makeTemp('env')
    try {
      const file = join(folder, 'secret')
      await writeFile(file, `  ${'k'.repeat(43)}\n`)
      for (const { name, key } of VARIABLES.filter(({ secret }) => secret)) {
        const given = { [`${name}_FILE`]: file, ADMIN_USERNAME: 'ada', ADMIN_PASSWORD_FILE: file }
        const read = name.includes('URL')
          ? undefined
          : Object.entries(readEnvironment(given)).find(([each]) => each === key)?.[1]
        if (!name.includes('URL')) expect(read).toBe('k'.repeat(43))
        expect(failure({ ...given, [name]: 'x' }).message).toContain(`${name} and ${name}_FILE are both set`)
      }
      await writeFile(file, 'postgres://db/hub\n')
      expect(readEnvironment({ DATABASE_URL_FILE: file })).toEqual({ databaseUrl: 'postgres://db/hub' })
      expect(readEnvironment({ PORT_FILE: file })).toEqual({})
      expect(failure({ MASTER_KEY_FILE: join(folder, 'none') }).message).toContain('cannot be read (ENOENT)')
      await writeFile(file, '\n')
      expect(failure({ MASTER_KEY_FILE: file }).message).toContain('is empty')
      await writeFile(file, 'canary-5512')
      expect(failure({ MASTER_KEY_FILE: file }).message).not.toContain('canary')
      expect(readClientEnvironment({ PATCHBAY_TOKEN_FILE: file })).toEqual({ token: 'canary-5512' })
      expect(readEnvironment({ SYSLOG_ENABLED: '0', ASSISTANT_ENABLED: '1', ASSISTANT_API_KEY_FILE: file })).toEqual({
        ...{ syslogEnabled: false, assistantEnabled: true, assistantApiKey: 'canary-5512' },
      })
    } finally {
      await removeTemp(folder)
    }
  })

  test('reads the proxies under both spellings, the documented one first', () => {
    expect(
      readEnvironment({
        https_proxy: 'http://small:1',
        HTTPS_PROXY: 'http://large:2',
        http_proxy: 'small:3',
        no_proxy: 'localhost, .example.com 10.0.0.0/8,*.local',
      }),
    ).toEqual({
      httpsProxy: 'http://large:2',
      httpProxy: 'small:3',
      noProxy: ['localhost', '.example.com', '10.0.0.0/8', '*.local'],
    })
  })

  test('refuses a JWT_SECRET of 31 bytes and takes one of 32', () => {
    const error = failure({ JWT_SECRET: 'x'.repeat(31) })
    expect([error.code, error.exitCode]).toEqual(['secret_too_short', 2])
    expect(readEnvironment({ JWT_SECRET: 'ä'.repeat(16) }).jwtSecret).toBe('ä'.repeat(16))
  })

  test.each(['trustedProxies', 'adminAddresses', 'outboundAllow'] as const)(
    'reads IPv4-mapped networks of %s as the IPv4 networks that they are',
    key => {
      const variable = {
        trustedProxies: 'TRUSTED_PROXIES',
        adminAddresses: 'ADMIN_ADDRESSES',
        outboundAllow: 'OUTBOUND_ALLOW',
      }
      const config = readEnvironment({ [variable[key]]: '::ffff:10.1.2.3,::ffff:10.0.0.0/104,10.0.0.0/8' })
      expect(config[key]).toEqual(['10.1.2.3/32', '10.0.0.0/8'])
      // The list that the guard makes of them at its start.
      const listed = addressList(config[key] ?? [])
      expect(['10.1.2.3', '10.9.9.9', '::ffff:a01:203', '11.0.0.1'].map(listed)).toEqual([true, true, true, false])
    },
  )

  test.each(['', ' ', ' \t '])('takes %j for unset, also where variables belong together', blank => {
    const names = ['PORT', 'DATA_DIR', 'JWT_SECRET', 'MASTER_KEY', 'ADMIN_USERNAME', 'ADMIN_PASSWORD', 'SYSLOG_HOST']
    expect(readEnvironment(Object.fromEntries(names.map(name => [name, blank])))).toEqual({})
    expect(failure({ SYSLOG_ENABLED: 'true', SYSLOG_HOST: blank }).message).toContain('SYSLOG_HOST is not set')
  })

  test('passes over blanks at both ends of a value', () => {
    expect(readEnvironment({ PORT: ' 3000 ', LOG_LEVEL: '\tdebug' })).toEqual({ port: 3000, logLevel: 'debug' })
  })

  test('reads what is right, and leaves out what is unset or empty', () => {
    expect(
      readEnvironment({
        PORT: '0',
        HOST: '[::1]',
        LOG_LEVEL: 'DEBUG',
        LOG_MAX_SIZE: '10MiB',
        ENABLE_REQUEST_LOGS: '1',
        TRUSTED_PROXIES: '10.0.0.1, fd00::/8,',
        PUBLIC_URL: 'https://hub.example/base/',
        BASE_PATH: '/base/',
        ALLOWED_HOSTS: 'Hub.Example,::1',
        WORKERS: '',
        UNRELATED: 'x',
      }),
    ).toEqual({
      port: 0,
      host: '::1',
      logLevel: 'debug',
      logMaxSizeBytes: 10 * 1024 * 1024,
      requestLogs: true,
      trustedProxies: ['10.0.0.1/32', 'fd00::/8'],
      publicUrl: 'https://hub.example/base',
      basePath: '/base',
      allowedHosts: ['hub.example', '[::1]'],
    })
  })
})
