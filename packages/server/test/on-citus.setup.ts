import { beforeEach } from 'vitest'
import { beginOnCitus } from './on-citus.ts'

beforeEach(({ skip }) => beginOnCitus(skip))
