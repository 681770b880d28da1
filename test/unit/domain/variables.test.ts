import { describe, expect, test } from 'bun:test'
import { HubError } from '../../../core/contract/errors.ts'
import { expandVariables, fillArguments, fillVariables } from '../../../core/domain/server/variables.ts'

const ref = (name: string) => `${'$'}{${name}}`

function refusedCode(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return error instanceof HubError ? `${error.code}: ${error.message}` : String(error)
  }
  return 'taken'
}

describe('fillVariables()', () => {
  test('fills in every string, also variables that name variables', () => {
    const value = { url: `https://${ref('HOST')}/`, args: [ref('A'), 'plain', 5] }
    const variables = { HOST: `${ref('A')}.example`, A: 'a' }
    expect(fillVariables(value, variables)).toEqual({ url: 'https://a.example/', args: ['a', 'plain', 5] })
  })

  test('knows nothing of the environment or of prototypes', () => {
    for (const name of ['PATH', 'JWT_SECRET', 'constructor', '__proto__', '', 'a b']) {
      expect(refusedCode(() => fillVariables({ a: [ref(name)] }, {}))).toStartWith('variable_unknown')
    }
  })

  test('says the name, the place and what was probably meant', () => {
    const message = refusedCode(() => fillVariables({ env: { A: ref('TOKN') } }, { TOKEN: 'x' }))
    expect(message).toContain(ref('TOKN'))
    expect(message).toContain(`did you mean ${ref('TOKEN')}`)
    expect(message).toContain('#/env/A')
  })

  test('leaves an escaped reference as a plain one', () => {
    expect(fillVariables({ a: `echo $${ref('HOME')} ${ref('A')}` }, { A: `$${ref('B')}` })).toEqual({
      a: `echo ${ref('HOME')} ${ref('B')}`,
    })
  })
})

describe('expandVariables()', () => {
  test('reports cycles once per loop, and does not hang', () => {
    const { errors } = expandVariables({ A: ref('B'), B: ref('C'), C: ref('A'), D: ref('D') })
    expect(errors.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
      'variable_cycle #/variables/C',
      'variable_cycle #/variables/D',
    ])
  })

  test('stops texts that grow by powers', () => {
    const variables: Record<string, string> = { v0: 'x'.repeat(1000) }
    for (let level = 1; level < 40; level += 1) variables[`v${level}`] = ref(`v${level - 1}`).repeat(10)
    const { errors, values } = expandVariables(variables)
    expect(errors[0]?.code).toBe('length')
    expect(Math.max(...Object.values(values).map(text => text.length))).toBeLessThan(300_000)
  })
})

describe('fillArguments()', () => {
  test('fills the named arguments at any depth, and leaves the others and their names as they are', () => {
    const given = {
      a: { deep: [`Bearer ${ref('T')}`, 5], [ref('T')]: null },
      b: ref('T'),
      openapi: { schema: ref('T') },
    }
    expect(fillArguments(given, ['a', 'openapi', 'missing'], { T: ref('U'), U: 'x' })).toEqual({
      ...{ a: { deep: ['Bearer x', 5], [ref('T')]: null }, b: ref('T'), openapi: { schema: 'x' } },
    })
  })

  test('a missing variable is named with its argument, and no value is shown', () => {
    const said = refusedCode(() => fillArguments({ a: `${ref('T')}${ref('GONE')}` }, ['a'], { T: 'secret' }))
    expect(said).toBe(
      `variable_unknown: ${ref('GONE')} is not a variable of this server; add it to "variables" (at #/arguments/a)`,
    )
  })
})
