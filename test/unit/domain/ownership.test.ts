import { expect, test } from 'bun:test'
import type { Actor, Role } from '../../../core/contract/records.ts'
import { canEdit, canSee, canUse } from '../../../core/domain/ownership.ts'
import { envKeyForbidden } from '../../../core/domain/server/env-keys.ts'

const user = (userId: string, role: Role): Actor => ({
  kind: 'user',
  userId,
  name: userId,
  role,
  credential: { kind: 'local' },
})
const hub: Actor = { kind: 'system', purpose: 'test' }

test('who may see, change and use a thing', () => {
  const rights = (actor: Actor, visibility: 'private' | 'public') => {
    const thing = { ownerId: 'bob', visibility }
    return [canSee(actor, thing), canEdit(actor, thing)]
  }
  expect(rights(user('bob', 'user'), 'private')).toEqual([true, true])
  expect(rights(user('eve', 'user'), 'private')).toEqual([false, false])
  expect(rights(user('eve', 'user'), 'public')).toEqual([true, false])
  expect(rights(user('ada', 'admin'), 'private')).toEqual([true, true])
  expect(rights(hub, 'private')).toEqual([true, true])
  expect(canUse('ada', { ownerId: 'bob', visibility: 'private' })).toBe(false)
  expect(canUse('ada', { ownerId: 'bob', visibility: 'public' })).toBe(true)
})

test('variables by which code is taken in are forbidden, ordinary ones are not', () => {
  const forbidden = [
    'LD_PRELOAD',
    'LD_AUDIT',
    'ld_library_path',
    'NODE_OPTIONS',
    'NODE_PATH',
    'BUN_OPTIONS',
    'PYTHONPATH',
  ]
  forbidden.push(
    'PYTHONSTARTUP',
    'PYTHONHOME',
    'BASH_ENV',
    'ENV',
    'GIT_SSH_COMMAND',
    'GIT_PROXY_COMMAND',
    'GIT_CONFIG_COUNT',
  )
  forbidden.push(
    'PERL5OPT',
    'RUBYOPT',
    'JAVA_TOOL_OPTIONS',
    'npm_config_script_shell',
    'PATH',
    'LUA_INIT',
    'GCONV_PATH',
  )
  forbidden.push('DOTNET_STARTUP_HOOKS', 'CLASSPATH', 'OPENSSL_CONF', 'BASH_FUNC_ls%%', 'DYLD_INSERT_LIBRARIES')
  expect(forbidden.filter(name => !envKeyForbidden(name))).toEqual([])
  const allowed = [
    'API_KEY',
    'TZ',
    'LANG',
    'GITHUB_TOKEN',
    'DATABASE_URL',
    'PYTHONUNBUFFERED',
    'NODE_ENV',
    'NPM_TOKEN',
    'R',
    'OLD_PATH',
    'HTTP_PROXY',
    'DEBUG',
  ]
  expect(allowed.filter(envKeyForbidden)).toEqual([])
})
