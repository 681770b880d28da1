import { expect, test } from 'bun:test'
import type { Actor, Role } from '../../../core/contract/records.ts'
import {
  canUse,
  higherRole,
  includesRole,
  isPublic,
  roleFor,
  roleUnderMcp,
  SHARE_ROLES,
  type SharedRoles,
  type ShareRole,
} from '../../../core/domain/ownership.ts'
import { envKeyForbidden } from '../../../core/domain/server/env-keys.ts'

const user = (userId: string, role: Role): Actor => ({
  kind: 'user',
  userId,
  name: userId,
  role,
  credential: { kind: 'local' },
})
const hub: Actor = { kind: 'system', purpose: 'test' }

const none: SharedRoles = { sharedRole: () => undefined }
const shared = (role: ShareRole): SharedRoles => ({ sharedRole: user => (user === 'eve' ? role : undefined) })

test('roleFor() gives owner and administrators all, shares their role, public things the use, others nothing', () => {
  const role = (actor: Actor, visibility: 'private' | 'public', roles: SharedRoles = none, ownerDisabled = false) =>
    roleFor(actor, { id: 't', ownerId: 'bob', visibility, ownerDisabled }, roles)
  expect(role(user('bob', 'user'), 'private')).toBe('owner')
  expect(role(user('ada', 'admin'), 'private')).toBe('owner')
  expect(role(hub, 'private')).toBe('owner')
  expect(role(user('eve', 'user'), 'private')).toBeUndefined()
  expect(role(user('eve', 'user'), 'public')).toBe('use')
  for (const given of SHARE_ROLES) {
    expect(role(user('eve', 'user'), 'private', shared(given))).toBe(given)
    expect(role(user('eve', 'user'), 'public', shared(given))).toBe(given)
    // Nothing of a disabled owner is shared.
    expect(role(user('eve', 'user'), 'public', shared(given), true)).toBeUndefined()
    expect(role(user('cleo', 'user'), 'private', shared(given))).toBeUndefined()
  }
})

test('canUse() under /mcp knows own, public and shared things, and no additional rights of administrators', () => {
  const thing = (visibility: 'private' | 'public') => ({ id: 't', ownerId: 'bob', visibility })
  expect(canUse('ada', thing('private'), none)).toBe(false)
  expect(canUse('ada', thing('public'), none)).toBe(true)
  expect(canUse('eve', thing('private'), shared('use'))).toBe(true)
  expect(canUse('bob', thing('private'), none)).toBe(true)
  for (const visibility of ['private', 'public'] as const) {
    const own = roleUnderMcp('bob', { ...thing(visibility), ownerDisabled: true }, none)
    expect([own, roleUnderMcp('bob', thing(visibility), none)]).toEqual(['owner', 'owner'])
  }
  expect(isPublic({ visibility: 'public', ownerDisabled: true })).toBe(false)
})

test('each role includes the ones before it', () => {
  const roles = [...SHARE_ROLES, 'owner'] as const
  const included = roles.map(role => roles.filter(wanted => includesRole(role, wanted)).length)
  expect(included).toEqual([1, 2, 3, 4])
  expect(includesRole(undefined, 'use')).toBe(false)
  expect(higherRole('see', 'change')).toBe('change')
  expect(higherRole(undefined, 'use')).toBe('use')
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
