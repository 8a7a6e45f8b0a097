export { FunctionTester, type NewTestUser, type TestCall, type TestOutcome } from './function-tester.ts'
