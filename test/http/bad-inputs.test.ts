/** Bodies and queries that are wrong, each refused with its code and place, or taken as documented. */
import { GROUPS_AND_CHANGES } from './group-rows.ts'
import { ODD } from './odd-rows.ts'
import { PEOPLE } from './people-rows.ts'
import { testsOfTown } from './rows.ts'
import { SERVERS } from './server-rows.ts'

testsOfTown([...SERVERS, ...GROUPS_AND_CHANGES, ...PEOPLE, ...ODD])
