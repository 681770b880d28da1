/** Users that a plugin makes for people who sign in elsewhere. */
import { expect, test } from 'bun:test'
import type { Auth } from '../../../core/auth/create.ts'
import { pluginSignIns } from '../../../core/plugin-host/services/sign-ins.ts'
import { openBareWorld, openWorld, type World } from '../registry/world.ts'

const signInsOf = ({ registry }: Pick<World, 'registry'>) =>
  pluginSignIns({ registry, auth: {} as unknown as Auth }, 'sign-in', true)

async function namesOf({ registry, ada }: World): Promise<string[]> {
  return (await registry.users.list(ada, { scope: 'all' })).map(({ name }) => name).sort()
}

test('a user whose making is not completed is gone, and the name is free again', async () => {
  const world = await openWorld()
  try {
    const signIns = signInsOf(world)
    const failed = signIns.create('dora', async () => {
      expect(await namesOf(world)).toContain('dora')
      throw new Error('not linked')
    })
    await expect(failed).rejects.toThrow('not linked')
    expect(await namesOf(world)).toEqual(['ada', 'bob', 'cleo'])
    const completed: string[] = []
    const made = await signIns.create('dora', async ({ id }) => void completed.push(id))
    expect([made.name, made.role, completed]).toEqual(['dora', 'user', [made.id]])
  } finally {
    await world.end()
  }
})

test('before the hub has an administrator nobody is made', async () => {
  const world = await openBareWorld()
  try {
    const early = signInsOf(world).create('dora', async () => {})
    expect(await early.catch(({ code }) => code)).toBe('starting')
  } finally {
    await world.end()
  }
})
