package consul

import (
	"testing"

	"github.com/docker/libkv/store"
	"github.com/docker/libkv/testutils"
)

// libkv's own TestConsulStore stops at its watch, which expects to be told of writes that change nothing. These are its other parts.

func clean(t *testing.T) store.Store {
	kv := makeConsulClient(t)
	testutils.RunCleanup(t, kv)
	return kv
}

func TestPartCommon(t *testing.T)  { testutils.RunTestCommon(t, clean(t)) }
func TestPartAtomic(t *testing.T)  { testutils.RunTestAtomic(t, clean(t)) }
func TestPartLock(t *testing.T)    { testutils.RunTestLock(t, clean(t)) }
func TestPartLockTTL(t *testing.T) { testutils.RunTestLockTTL(t, clean(t), makeConsulClient(t)) }
func TestPartTTL(t *testing.T)     { testutils.RunTestTTL(t, clean(t), makeConsulClient(t)) }
