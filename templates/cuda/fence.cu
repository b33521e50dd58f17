fence_async_proxy();  // why: the copy engine reads what the threads wrote
